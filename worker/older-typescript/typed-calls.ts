// The types of a client, from a description of routes. They need `fetch` and `Response` alone, and TypeScript 5.6.

/** A route's input and one of its answers. */
interface Endpoint {
  readonly input: unknown;
  readonly output: unknown;
  readonly outputFormat: string;
  readonly status: number;
}

/** Whether a status is one of success, as `Response.ok` says. */
type IsOk<Status extends number> = `${Status}` extends `2${string}` ? true : false;

/** A response whose `ok` tells success from refusal, and whose `json()` has the type of its status. */
export interface TypedResponse<Output, Status extends number, Format extends string> {
  readonly ok: IsOk<Status>;
  readonly status: Status;
  json(): Promise<Format extends "json" ? Output : unknown>;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  blob(): Promise<Blob>;
  formData(): Promise<FormData>;
  clone(): TypedResponse<Output, Status, Format>;
  readonly body: ReadableStream | null;
  readonly bodyUsed: boolean;
  readonly headers: Headers;
  readonly redirected: boolean;
  readonly statusText: string;
  readonly type: "basic" | "cors" | "default" | "error" | "opaque" | "opaqueredirect";
  readonly url: string;
}

type ResponseOf<E> = E extends Endpoint ? TypedResponse<E["output"], E["status"], E["outputFormat"]> : never;

/** Headers and settings that a call adds to its request. */
export interface CallOptions {
  readonly headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  readonly init?: RequestInit;
  readonly fetch?: typeof globalThis.fetch;
}

/** A call of a route. Its argument may be left out if nothing in it is required. */
type Call<Input, Answer> =
  Record<never, never> extends Input
    ? (input?: Input, options?: CallOptions) => Promise<Answer>
    : (input: Input, options?: CallOptions) => Promise<Answer>;

type InputOf<E> = E extends Endpoint ? E["input"] : never;

/** The calls of one path: a method's name after `$`, and `$url`, which gives the address. */
type Calls<Methods, Refusal> = { [M in keyof Methods]: Call<InputOf<Methods[M]>, ResponseOf<Methods[M]> | Refusal> } & {
  $url(input?: { readonly param?: Record<string, string>; readonly query?: Record<string, string> }): URL;
};

/** A path as a chain of properties, such as `v1.models[":model"]`. */
type Chain<Path extends string, Leaf> = Path extends `/${infer Rest}`
  ? Chain<Rest, Leaf>
  : Path extends `${infer Head}/${infer Rest}`
    ? { [K in Head]: Chain<Rest, Leaf> }
    : { [K in Path extends "" ? "index" : Path]: Leaf };

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer Intersection) => void ? Intersection : never;

/** A client of routes. Every call may also answer with a refusal. */
export type Client<Routes, Refusal> = All<
  { [Path in keyof Routes & string]: Chain<Path, Calls<Routes[Path], Refusal>> }[keyof Routes & string]
>;
