import type { ModelConfig } from "../../domain/model/model.ts";
import type { Allowance } from "../../rpc/message.ts";
import type { Database } from "./database.ts";

/** The part of the model's limits that a shard may use. */
export class AllowanceStore {
  readonly #database: Database;
  readonly #model: { readonly config: Pick<ModelConfig, "shards" | "limits"> };

  /** @param model whose configuration may change. */
  constructor(database: Database, model: { readonly config: Pick<ModelConfig, "shards" | "limits"> }) {
    this.#database = database;
    this.#model = model;
  }

  /** The part of the model's limits that this shard may use. All of them if it has no others beside it. */
  get part(): Allowance {
    return this.#model.config.shards === 1 ? this.#model.config.limits : this.granted;
  }

  /** The part that the coordinator has granted this shard: in a model of one, to make room for those that it is about to get. */
  get granted(): Allowance {
    const { allowance } = this.#database.model;
    return allowance === null ? this.#model.config.limits : JSON.parse(allowance);
  }

  /** Whether the coordinator has granted anything. A new shard takes no impressions before. */
  get isGranted(): boolean {
    const { open, bytes } = this.part;
    return open > 0 || bytes > 0;
  }

  grant(allowance: Allowance): void {
    const text = JSON.stringify(allowance);
    if (text !== this.#database.model.allowance) this.#database.set("allowance = ?", text);
  }
}
