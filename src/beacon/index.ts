/**
 * A page's reports to a worker: which impressions were seen, and which public goals their visitor reached.
 *
 * @module afterclick/beacon
 */
export { watchAttributes } from "./attributes.ts";
export { type Beacon, type BeaconOptions, createBeacon } from "./beacon.ts";
