// The trace of a request: which named functions of the worker and of the SDK's sources are entered, in which order. It knows no request.
import { registerHooks } from "node:module";
import { dirname, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type ESTree, parseSync, Visitor } from "vite";

/** What one request has crossed. */
export interface Crossing {
  /** Calls of named functions, by file. */
  readonly files: ReadonlyMap<string, number>;
  readonly calls: number;
  /** Calls in another file, and in another folder, than the call before. */
  readonly fileChanges: number;
  readonly folderChanges: number;
  /** Calls of the learner's getters: reads of the model's state. */
  readonly reads: number;
  readonly statements: readonly string[];
}

interface Call {
  readonly file: string;
  readonly getter: boolean;
}

/** The calls since the last crossing. */
let calls: Call[] = [];
let statements: string[] = [];

/** The global function that instrumented code calls. */
const ENTER = "__afterclickEnter";
Object.assign(globalThis, { [ENTER]: (file: string, getter: boolean) => void calls.push({ file, getter }) });

/** Sources of the SDK replace its bundle, so that each of its files counts. */
const sdk: Readonly<Record<string, string>> = { afterclick: "src/index.ts", "#core-module": "src/entry/workerd.ts" };

registerHooks({
  resolve(specifier, context, next) {
    return Object.hasOwn(sdk, specifier) ? { url: pathToFileURL(sdk[specifier]).href, shortCircuit: true } : next(specifier, context);
  },
  load(url, context, next) {
    const loaded = next(url, context);
    const file = url.startsWith("file:") ? relative(process.cwd(), fileURLToPath(url)) : "";
    return /^(worker|src)\/.*\.ts$/.test(file) ? { ...loaded, source: traced(file, String(loaded.source)) } : loaded;
  },
});

/** The source in which each named function first states that it is entered. */
function traced(file: string, source: string): string {
  const insertions: [place: number, text: string][] = [];
  const enter = (body: ESTree.Node, getter: boolean): void => {
    const call = `${ENTER}(${JSON.stringify(file)}, ${getter})`;
    if (body.type === "BlockStatement") insertions.push([body.start + 1, ` ${call};`]);
    else insertions.push([body.start, `(${call}, `], [body.end, ")"]);
  };
  const named = (value: ESTree.Node | null | undefined, getter = false): void => {
    if ((value?.type === "ArrowFunctionExpression" || value?.type === "FunctionExpression") && value.body) enter(value.body, getter);
  };
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0].message}`);
  new Visitor({
    FunctionDeclaration: ({ body }) => void (body && enter(body, false)),
    MethodDefinition: ({ value, kind }) => named(value, kind === "get" && file.startsWith("worker/learner/")),
    Property: ({ value }) => named(value),
    PropertyDefinition: ({ value }) => named(value),
    VariableDeclarator: ({ init }) => named(init),
    AssignmentPattern: ({ right }) => named(right),
  }).visit(program);
  let [text, from] = ["", 0];
  for (const [place, insertion] of insertions.sort(([a], [b]) => a - b)) {
    text += source.slice(from, place) + insertion;
    from = place;
  }
  return text + source.slice(from);
}

/** Notes a statement of SQL. */
export function noteStatement(verb: string): void {
  statements.push(verb);
}

/** Runs work, and returns what it has crossed. */
export async function crossingOf(work: () => Promise<unknown>): Promise<Crossing> {
  [calls, statements] = [[], []];
  await work();
  const files = new Map<string, number>();
  for (const { file } of calls) files.set(file, (files.get(file) ?? 0) + 1);
  const changes = (place: (file: string) => string): number => {
    return calls.filter(({ file }, i) => i > 0 && place(file) !== place(calls[i - 1].file)).length;
  };
  return {
    ...{ files, calls: calls.length, statements },
    ...{ fileChanges: changes((file) => file), folderChanges: changes(dirname) },
    reads: calls.filter(({ getter }) => getter).length,
  };
}
