import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A worker that recommends the same three products to everybody. It notes what it is asked, and what pages report. */
export async function listWorker() {
  const questions: { readonly limit: number; readonly learn: boolean; readonly defer: boolean }[] = [];
  const seen: string[] = [];
  const reached: string[] = [];
  const server = createServer(async (request, response) => {
    for (const name of ["origin", "headers"])
      response.setHeader(`access-control-allow-${name}`, name === "origin" ? "*" : "authorization, content-type");
    if (request.method === "OPTIONS") return response.end();
    const body = JSON.parse(await text(request));
    if (request.url === "/v1/shown") {
      seen.push(...body.seen);
      reached.push(...body.reached.map(({ impressionId, goal }: Record<string, string>) => `${impressionId} ${goal}`));
      return response.writeHead(202).end("{}");
    }
    questions.push(body);
    const actions = ["scarf", "boots", "hat"].map((id) => ({ id, impressionId: `${questions.length}-${id}` }));
    response.writeHead(201).end(JSON.stringify({ actions }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, questions, seen, reached, close: () => void server.close() };
}

export type ListWorker = Awaited<ReturnType<typeof listWorker>>;
