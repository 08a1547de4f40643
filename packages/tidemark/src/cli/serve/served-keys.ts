import { InvalidOptionError } from '@tidemark/contracts'
import { EMULATOR_KEY, isLoopbackAddress } from '@tidemark/contracts/internal'
import type { GatewayKeys } from '@tidemark/gateway'
import { ALL_RIGHTS, EMULATOR_ACCESS_KEY, type AccessPolicy } from '@tidemark/messaging/front'

/** The keys of every front. */
export interface ServedKeys extends GatewayKeys {
  /** Of the fronts for queues, beside the one of `readWrite`. @default none */
  readonly policies?: readonly AccessPolicy[] | undefined
}

/** The policy that every namespace of Service Bus has. */
export const ROOT_POLICY = 'RootManageSharedAccessKey'

/** A shorter one can be guessed. */
const MIN_KEY_CHARACTERS = 16
const EMULATOR_POLICY: AccessPolicy = {
  name: undefined,
  keys: [EMULATOR_ACCESS_KEY],
  rights: ALL_RIGHTS,
}

/**
 * What the fronts for queues accept: the keys that allow everything, and the other policies.
 *
 * @param isForTests also the emulator's key, where only this machine can connect
 * @throws ERR_INVALID_OPTION for a key that can be guessed, or that everybody knows on an address that is not loopback
 */
export function frontPolicies(
  { readWrite, policies = [] }: ServedKeys,
  { host, isForTests }: { readonly host: string; readonly isForTests: boolean },
): readonly AccessPolicy[] {
  const given = [{ name: ROOT_POLICY, keys: readWrite, rights: ALL_RIGHTS }, ...policies]
  for (const { name, keys } of given) {
    if (keys.some((key) => key.length < MIN_KEY_CHARACTERS && !isWellKnown(key))) {
      throw new InvalidOptionError(
        `a key of the access policy ${name} must have at least ${MIN_KEY_CHARACTERS} characters`,
      )
    }
  }
  if (isLoopbackAddress(host)) return isForTests ? [...given, EMULATOR_POLICY] : given
  if (includesWellKnownKey(given)) {
    throw new InvalidOptionError(
      `the emulator's key is known to everybody: with it queues are served on loopback only, not on ${host}; give a key of your own`,
    )
  }
  return given
}

/** Whether everybody knows one of the keys, so that pages of other origins in a browser must not be served. */
export function includesWellKnownKey(policies: readonly AccessPolicy[]): boolean {
  return policies.some(({ keys }) => keys.some(isWellKnown))
}

function isWellKnown(key: string): boolean {
  return key === EMULATOR_KEY || key === EMULATOR_ACCESS_KEY
}
