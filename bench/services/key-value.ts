// A KV namespace in memory, with the runtime's HTTP protocol: GET, PUT and DELETE of a key, GET of the root for a list.

interface Entry {
  readonly value: ArrayBuffer;
  readonly metadata: string | null;
}

const METADATA = "CF-KV-Metadata";
const PAGE = 1000;

const entries = new Map<string, Entry>();

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/") return list(searchParams.get("prefix") ?? "", searchParams.get("cursor") ?? "");
    const key = decodeURIComponent(pathname.slice(1));
    if (request.method === "GET") return get(key);
    if (request.method === "DELETE") entries.delete(key);
    else entries.set(key, { value: await request.arrayBuffer(), metadata: request.headers.get(METADATA) });
    return new Response();
  },
};

function get(key: string): Response {
  const entry = entries.get(key);
  if (!entry) return new Response(null, { status: 404 });
  return new Response(entry.value, { headers: entry.metadata === null ? {} : { [METADATA]: entry.metadata } });
}

function list(prefix: string, cursor: string): Response {
  const names = Array.from(entries.keys())
    .filter((name) => name.startsWith(prefix) && name > cursor)
    .sort();
  const keys = names.slice(0, PAGE).map((name) => {
    const metadata = entries.get(name)?.metadata;
    return { name, ...(metadata && { metadata: JSON.parse(metadata) }) };
  });
  const complete = names.length <= PAGE;
  return Response.json({ keys, list_complete: complete, ...(!complete && { cursor: keys[PAGE - 1].name }) });
}
