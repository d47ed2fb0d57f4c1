/** A target of workerd's inspector: one isolate. */
interface Target {
  readonly id: string;
  readonly webSocketDebuggerUrl: string;
}

/** Memory of an isolate after garbage collection, in MB: the heap of JavaScript, and buffers with WebAssembly. */
export interface Heap {
  readonly used: number;
  readonly buffers: number;
}

/** Asks the inspector at a port for the memory of the isolate of a service. @throws {Error} if there is none. */
export async function heapOf(port: number, service: string): Promise<Heap> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as Target[];
  const target = targets.find(({ id }) => id === service);
  if (!target) throw new Error(`expected an isolate of ${service}, got ${targets.map(({ id }) => id).join(", ")}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  try {
    await asked(socket, 1, "HeapProfiler.collectGarbage");
    const usage = await asked(socket, 2, "Runtime.getHeapUsage");
    return { used: usage.usedSize / 2 ** 20, buffers: usage.backingStorageSize / 2 ** 20 };
  } finally {
    socket.close();
  }
}

/** Sends a command of the Chrome DevTools protocol, and waits for its result. */
function asked(socket: WebSocket, id: number, method: string): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("message", function listen({ data }) {
      const message = JSON.parse(String(data));
      if (message.id !== id) return;
      socket.removeEventListener("message", listen);
      if (message.error) reject(new Error(`${method}: ${message.error.message}`));
      else resolve(message.result);
    });
    socket.send(JSON.stringify({ id, method }));
  });
}
