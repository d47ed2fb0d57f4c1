import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Load {
  readonly port: number;
  /** Gives complete HTTP requests as bytes. */
  readonly next: () => Buffer;
  readonly connections: number;
  readonly milliseconds: number;
}

/**
 * Measures answered requests per second, with one pending request per connection. Requests are bytes made beforehand, and only the
 * status and length of an answer are read. So the generator needs far less processor time than the worker.
 *
 * @throws {Error} if an answer's status is not 2xx.
 */
export async function requestsPerSecond({ port, next: give, connections, milliseconds }: Load): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  let answered = 0;
  const start = performance.now();
  const end = start + milliseconds;
  const next = () => (performance.now() < end ? give() : undefined);
  try {
    await Promise.all(sockets.map((socket) => converse(socket, next, () => answered++)));
    // The time ends with the last answer, because requests pending at `end` are counted.
    return (answered / (performance.now() - start)) * 1000;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Sends one request after the other over a connection, until `next` has none. */
function converse(socket: Socket, next: () => Buffer | undefined, answered: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer | undefined;
    const send = () => {
      const request = next();
      if (request) socket.write(request);
      else resolve();
    };
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("The worker closed a connection before it answered. Look at its output.")));
    socket.on("data", (data) => {
      pending = pending ? Buffer.concat([pending, data]) : data;
      const length = answerLength(pending);
      if (length === undefined || pending.length < length) return;
      if (pending.toString("latin1", 9, 10) !== "2") reject(new Error(`expected a status of 2xx, got ${pending}`));
      pending = undefined;
      answered();
      send();
    });
    send();
  });
}

/** Length of an answer with its headers, in bytes. Undefined until the headers are complete. */
function answerLength(answer: Buffer): number | undefined {
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const length = /content-length: (\d+)/i.exec(answer.toString("latin1", 0, end))?.[1];
  if (length === undefined) throw new Error(`expected an answer with a content-length header, got ${answer}`);
  return end + 4 + Number(length);
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  return socket;
}
