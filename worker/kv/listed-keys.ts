/** The keys with a prefix, page by page. A page may be empty. */
export async function* listedKeys<Metadata>(kv: KVNamespace, prefix: string): AsyncGenerator<KVNamespaceListKey<Metadata>[]> {
  let cursor: string | undefined;
  do {
    const page: KVNamespaceListResult<Metadata, string> = await kv.list({ prefix, cursor });
    yield page.keys;
    cursor = page.list_complete ? undefined : page.cursor;
  } while (cursor);
}
