// The row that says what the model is. A turn reads it once.

import { shardOf } from "../../domain/ids/shard.ts";
import { type ModelConfig, withDefaults } from "../../domain/model/model.ts";
import { unknownModel } from "../../protocol/problem.ts";
import type { Allowance } from "../../rpc/message.ts";
import type { Database } from "./database.ts";

/** The state of a model: the row of the table `model`. It changes seldom. Times are ms since 1970. */
export interface ModelState {
  readonly name: string;
  /** Number of this learner among the shards of its model. Shard 0 coordinates the others. */
  readonly shard: number;
  /** Whether other shards have impressions of the model, and this learner merges their sums. */
  readonly coordinates: boolean;
  readonly config: ModelConfig;
  /** Start of the model. A model that was reset has a later generation. */
  readonly generation: number;
  /** Buckets that end at this time or earlier are closed. */
  readonly watermark: number;
  /** Buckets that end at this time or earlier are audited. */
  readonly audited: number;
  /** The log holds impressions shown at this time or later. */
  readonly horizon: number;
  /** Version and time of the newest publication in KV; version -1 before the first. */
  readonly published: Written;
  /** Version and time of the newest catalogue in KV; version 0 before the first. */
  readonly catalogued: Written;
  /** When impressions were last left out whose keys a backend's conversion may name. Null: never. */
  readonly sampled: number | null;
  /** Shards of the model when its generation began. They know the join keys and the callers' own ids. */
  readonly homes: number;
  /** Rollbacks and takeovers of all shards of the model so far. */
  readonly term: number;
  /** Version of the coordinator's catalogue that this shard has. */
  readonly coordinated: number;
  /** The part of the model's limits that the coordinator has granted this shard: in a model of one, to make room for those that it is about to get. */
  readonly granted: Allowance | null;
  /** The part of the model's limits that this shard may use. All of them if it has no others beside it. */
  readonly allowance: Allowance;
}

interface Written {
  readonly version: number;
  readonly at: number | null;
}

/** The columns of the row. */
type Row = Record<string, SqlStorageValue> &
  Omit<ModelState, "shard" | "coordinates" | "config" | "published" | "catalogued" | "granted" | "allowance"> & {
    config: string;
    published: number;
    published_at: number | null;
    catalogued: number;
    catalogued_at: number | null;
    allowance: string | null;
  };

/** The table `model`, which has one row. A caller reads it once a turn, and again after an await. */
export class ModelStore {
  readonly #database: Database;
  /** Undefined after a change, and without a model. */
  #state?: ModelState;
  #hasTable = false;
  #config?: { readonly text: string; readonly config: ModelConfig };

  constructor(database: Database) {
    this.#database = database;
    database.onDrop(() => {
      this.#state = undefined;
      this.#hasTable = false;
    });
  }

  /** Whether a model was ever configured. A learner that is merely addressed has no tables. */
  get exists(): boolean {
    return (this.#state ?? this.#read()) !== undefined;
  }

  /** @throws {Problem} 404 without a model. */
  get state(): ModelState {
    const state = this.#state ?? this.#read();
    if (!state) throw unknownModel();
    return state;
  }

  #read(): ModelState | undefined {
    this.#hasTable ||= this.#database.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'model'").length > 0;
    const [row] = this.#hasTable ? this.#database.query<Row>("SELECT * FROM model") : [];
    this.#state = row && this.#stateOf(row);
    return this.#state;
  }

  #stateOf({ only: _, config: text, published, published_at, catalogued, catalogued_at, allowance: part, ...row }: Row): ModelState {
    // The same object until the configuration changes, so that callers may compare it.
    if (this.#config?.text !== text) this.#config = { text, config: withDefaults(JSON.parse(text)) };
    const { config } = this.#config;
    const { shard } = shardOf(row.name);
    const granted: Allowance | null = part === null ? null : JSON.parse(part);
    return {
      ...row,
      ...{ shard, coordinates: config.shards > 1 && shard === 0, config },
      published: { version: published, at: published_at },
      catalogued: { version: catalogued, at: catalogued_at },
      granted,
      allowance: (config.shards > 1 && granted) || config.limits,
    };
  }

  /** Fills the empty table. */
  insert({ name, config, generation, watermark, homes }: Pick<ModelState, "name" | "config" | "generation" | "watermark" | "homes">): void {
    const insert = `INSERT INTO model (only, name, config, generation, watermark, audited, horizon, homes)
      VALUES (1, ?1, ?2, ?3, ?4, ?4, 0, ?5)`;
    this.#database.query(insert, name, JSON.stringify(config), generation, watermark, homes);
    this.#state = undefined;
  }

  /** Changes columns. */
  set(assignments: string, ...values: unknown[]): void {
    this.#database.query(`UPDATE model SET ${assignments}`, ...values);
    this.#state = undefined;
  }
}
