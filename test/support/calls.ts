// Runs commands one after the other in this process, as `node FILE ARGUMENTS` would, and prints what each of them wrote. What they import
// is loaded once, which is most of their time.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

/** A command as it is called. */
export interface Call {
  /** The script of package.json that calls it. */
  readonly script?: string;
  readonly file: string;
  readonly args: readonly string[];
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Exit extends Error {}

async function answer({ script, file, args }: Call, place: number): Promise<Answer> {
  const written = { stdout: "", stderr: "" };
  const to =
    (stream: keyof typeof written) =>
    (message: unknown, ...rest: unknown[]) => {
      written[stream] += `${format(message, ...rest)}\n`;
    };
  console.log = to("stdout");
  console.error = to("stderr");
  process.argv = [process.execPath, resolve(file), ...args];
  process.env.npm_lifecycle_event = script ?? "";
  process.exitCode = undefined;
  process.exit = (code): never => {
    process.exitCode = code ?? undefined;
    throw new Exit();
  };
  try {
    // Its own copy of the command, if another call has run it before.
    await import(`${pathToFileURL(resolve(file))}?${place}`);
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
  }
  return { code: Number(process.exitCode ?? 0), ...written };
}

const answers: Answer[] = [];
for (const [place, call] of (JSON.parse(process.argv[2]) as Call[]).entries()) answers.push(await answer(call, place));
process.exitCode = 0;
process.stdout.write(JSON.stringify(answers));
