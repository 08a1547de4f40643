import { createSecretKey, type KeyObject } from 'node:crypto'
import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  EMULATOR_KEY,
  optionGroup,
  optionRule,
  requiredOption,
  type OptionRule,
} from '@tidemark/contracts/internal'

/** Keys that the gateway accepts, each base64 text of a shared secret. */
export interface GatewayKeys {
  /** Master keys: they may do everything. At least one. */
  readonly readWrite: readonly string[]
  /** Keys that may only read. @default none */
  readonly readOnly?: readonly string[] | undefined
}

const keyList: OptionRule = {
  ...optionRule('a list of texts', (value) => isArray(value) && value.every(isText)),
  secret: true,
}

/** Of the option `keys`. */
export const keysRule: OptionRule = {
  ...optionGroup<GatewayKeys>({ readWrite: requiredOption(keyList), readOnly: keyList }),
  required: true,
  secret: true,
}

/** @throws ERR_INVALID_OPTION */
export function checkKeys(keys: GatewayKeys): void {
  checkOptions({ keys }, { keys: keysRule })
}

/** A key with what it may do. */
export interface AcceptedKey {
  /** As Node keeps it: a signature by it costs a seventh of one by bare bytes. */
  readonly secret: KeyObject
  readonly access: 'readWrite' | 'readOnly'
}

/** Below this a key can be guessed. */
const MIN_KEY_BYTES = 16

/** @throws ERR_INVALID_OPTION; the message does not show the key */
export function acceptedKeys({ readWrite, readOnly = [] }: GatewayKeys): readonly AcceptedKey[] {
  if (readWrite.length === 0) throw new InvalidOptionError('keys.readWrite needs at least one key')
  return [
    ...readWrite.map((key, index) => accepted(key, 'readWrite', index)),
    ...readOnly.map((key, index) => accepted(key, 'readOnly', index)),
  ]
}

/** Whether one of the keys is the one that everybody knows. */
export function includesEmulatorKey({ readWrite, readOnly = [] }: GatewayKeys): boolean {
  const known = Buffer.from(EMULATOR_KEY, 'base64')
  return [...readWrite, ...readOnly].some((key) => Buffer.from(key, 'base64').equals(known))
}

function accepted(key: string, access: AcceptedKey['access'], index: number): AcceptedKey {
  const bytes = Buffer.from(key, 'base64')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(key) || bytes.length < MIN_KEY_BYTES) {
    throw new InvalidOptionError(
      `keys.${access}[${index}] must be base64 text of at least ${MIN_KEY_BYTES} bytes`,
    )
  }
  return { secret: createSecretKey(bytes), access }
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
