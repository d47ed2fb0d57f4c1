// npm run check and npm run types: runs each argument as a command, all of them at once. Prints the output of those that fail.
import { exec } from "node:child_process";

const run = (command: string): Promise<void> =>
  new Promise((resolve) => {
    exec(command, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error) {
        console.error(`${command} failed:\n${stdout}${stderr}`);
        process.exitCode = 1;
      }
      resolve();
    });
  });

await Promise.all(process.argv.slice(2).map(run));
