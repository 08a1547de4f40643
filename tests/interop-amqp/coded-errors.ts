/** The code of the broker for each one that the client throws. */
const CODES: Readonly<Record<string, string>> = {
  MessageLockLost: 'ERR_MESSAGE_LOCK_LOST',
  MessageNotFound: 'ERR_MESSAGE_NOT_FOUND',
  MessageSizeExceeded: 'ERR_MESSAGE_SIZE_EXCEEDED',
  MessagingEntityAlreadyExists: 'ERR_MESSAGING_ENTITY_EXISTS',
  MessagingEntityDisabled: 'ERR_MESSAGING_ENTITY_DISABLED',
  MessagingEntityNotFound: 'ERR_MESSAGING_ENTITY_NOT_FOUND',
  QuotaExceeded: 'ERR_QUOTA_EXCEEDED',
  ServiceTimeout: 'ERR_SERVICE_TIMEOUT',
  SessionCannotBeLocked: 'ERR_SESSION_CANNOT_BE_LOCKED',
  SessionLockLost: 'ERR_SESSION_LOCK_LOST',
  UnauthorizedAccess: 'ERR_UNAUTHORIZED_ACCESS',
}

/** What the client has no code for: it puts the condition's name before the text, or refuses by itself. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/^InvalidOperationError:/, 'ERR_MESSAGING_NOT_ALLOWED'],
  [/^ArgumentError:/, 'ERR_INVALID_OPTION'],
  [/already settled$/, 'ERR_MESSAGE_LOCK_LOST'],
  [/has been closed/, 'ERR_LINK_CLOSED'],
]

/** The same object, whose calls reject with the broker's codes. */
export function codedErrors<Target extends object>(target: Target): Target {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...values: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, target, values)
        return answer instanceof Promise ? answer.catch(throwCoded) : answer
      }
    },
  })
}

function throwCoded(error: unknown): never {
  const code = error instanceof Error ? codeOf(error) : undefined
  if (code === undefined) throw error
  throw Object.assign(new Error(String(error), { cause: error }), { code })
}

function codeOf(error: Error): string | undefined {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'string' && Object.hasOwn(CODES, code)) return CODES[code]
  return TEXTS.find(([text]) => text.test(error.message))?.[1]
}
