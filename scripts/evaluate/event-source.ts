import type { Source } from "./source.ts";
export async function eventSource(_file: string, _p: (a: number, b: number) => void): Promise<Source> {
  throw new Error("later");
}
