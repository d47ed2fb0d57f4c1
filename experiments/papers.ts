// Every experiment: those of the papers, and this project's own.
import { paper as beyond } from "./beyond.ts";
import { paper as calandriello } from "./calandriello.ts";
import { paper as liu } from "./liu.ts";
import { paper as logs } from "./logs.ts";
import type { Paper } from "./runs/experiment.ts";
import { paper as shop } from "./shop.ts";
import { paper as signals } from "./signals.ts";
import { paper as vakili } from "./vakili.ts";
import { paper as verma } from "./verma.ts";
import { paper as vernade } from "./vernade.ts";
import { paper as worth } from "./worth.ts";

export const papers: readonly Paper[] = [vernade, verma, vakili, liu, calandriello];
export const all: readonly Paper[] = [...papers, beyond, shop, signals, logs, worth];
