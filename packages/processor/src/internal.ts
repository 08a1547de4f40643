/**
 * How the command and other packages look at a group.
 *
 * @packageDocumentation
 * @internal
 */

export { leaseState } from './estimation/lease-estimate.ts'
export { missingKeys, type MissingKeys } from './estimation/missing-keys.ts'
export { liveOwner } from './administration/group-status.ts'
export { positionsSnapshot } from './administration/positions-snapshot.ts'
