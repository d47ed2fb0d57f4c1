// The part of an OpenAPI description that an attack reads.

export type Schema = Readonly<Record<string, unknown>> & {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
};

interface Media {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Operation {
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
}

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Route {
  /** In upper case. */
  readonly method: string;
  /** With names in braces. */
  readonly path: string;
  /** Names of the security schemes. One of them is enough. */
  readonly keys: readonly string[];
  readonly media: string | undefined;
  readonly schema: Schema | undefined;
  readonly examples: readonly unknown[];
}

export function routesOf({ paths }: Description): Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security, requestBody }]) => {
      const [[media, content] = []] = Object.entries(requestBody?.content ?? {});
      const examples = Object.values(content?.examples ?? {}).map(({ value }) => value);
      return { method: method.toUpperCase(), path, keys: security.flatMap(Object.keys), media, schema: content?.schema, examples };
    }),
  );
}

/** A path with values for its names. */
export function filled(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name]);
}
