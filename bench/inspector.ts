/** A target of workerd's inspector: one isolate. */
interface Target {
  readonly id: string;
  readonly webSocketDebuggerUrl: string;
}

/** An answer may be lost. It is then asked for again. */
const ANSWERED_WITHIN_MS = 3000;
const TRIES = 5;

/** Memory of the isolate of a service after garbage collection, in MB: the heap of JavaScript, buffers and WebAssembly. */
export async function memoryOf(port: number, service: string, wake: () => Promise<unknown>): Promise<number> {
  for (let i = 0; ; i++) {
    try {
      // An isolate answers while it runs.
      const [size] = await Promise.all([memory(port, service), wake()]);
      return size;
    } catch (error) {
      if (i + 1 === TRIES)
        throw new Error(`expected an answer of the inspector, got none in ${TRIES} times ${ANSWERED_WITHIN_MS} ms`, { cause: error });
    }
  }
}

async function memory(port: number, service: string): Promise<number> {
  const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json`, { signal })).json()) as Target[];
  const target = targets.find(({ id }) => id === service);
  if (!target) throw new Error(`expected an isolate of ${service}, got ${targets.map(({ id }) => id).join(", ")}`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    await once(socket, "open", signal);
    await asked(socket, 1, "HeapProfiler.collectGarbage", signal);
    const { usedSize, backingStorageSize } = await asked(socket, 2, "Runtime.getHeapUsage", signal);
    return (usedSize + backingStorageSize) / 2 ** 20;
  } finally {
    socket.close();
  }
}

/** Sends a command of the Chrome DevTools protocol, and waits for its result. */
async function asked(socket: WebSocket, id: number, method: string, signal: AbortSignal): Promise<Record<string, number>> {
  socket.send(JSON.stringify({ id, method }));
  for (;;) {
    const { data } = (await once(socket, "message", signal)) as MessageEvent;
    const message = JSON.parse(String(data));
    if (message.id === id) return message.result;
  }
}

function once(socket: WebSocket, name: string, signal: AbortSignal): Promise<Event> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(name, resolve, { once: true });
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
