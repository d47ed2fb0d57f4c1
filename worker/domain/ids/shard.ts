/** Separates a model's name from a shard's number. No name of a model contains it. */
export const SEPARATOR = "~";

/** Name of the object, of the journal and of the archive of a shard. Shard 0 coordinates the others, and has the model's own name. */
export function shardName(model: string, shard: number): string {
  return shard === 0 ? model : `${model}${SEPARATOR}${shard}`;
}

/** The model and the number of a shard with such a name. */
export function shardOf(name: string): { readonly model: string; readonly shard: number } {
  const [model, shard = 0] = name.split(SEPARATOR);
  return { model, shard: Number(shard) };
}
