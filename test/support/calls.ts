// Runs commands one after the other in one process, as `node FILE ARGUMENTS` would. What they import is loaded once, which is most of
// their time.
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format, promisify } from "node:util";

/** A command as it is called. */
export interface Call {
  readonly file: string;
  readonly args: readonly string[];
  /** Variables of its environment beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Exit extends Error {}

const environment = process.env;

const OWN = fileURLToPath(import.meta.url);

/** The answers of commands, all of which run in one process. A command that does not end after its answer keeps this from resolving. */
export async function answersTo(calls: readonly Call[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Answer[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [OWN, JSON.stringify(calls)], options);
  return JSON.parse(stdout);
}

async function answer({ file, args, env }: Call, place: number): Promise<Answer> {
  const written = { stdout: "", stderr: "" };
  const to =
    (stream: keyof typeof written) =>
    (message: unknown, ...rest: unknown[]) => {
      written[stream] += `${format(message, ...rest)}\n`;
    };
  console.log = to("stdout");
  console.error = to("stderr");
  process.argv = [process.execPath, resolve(file), ...args];
  process.env = { ...environment, ...env };
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

if (process.argv[1] === OWN) {
  const answers: Answer[] = [];
  for (const [place, call] of (JSON.parse(process.argv[2]) as Call[]).entries()) answers.push(await answer(call, place));
  process.exitCode = 0;
  process.stdout.write(JSON.stringify(answers));
}
