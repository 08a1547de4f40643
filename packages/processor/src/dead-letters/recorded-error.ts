import type { RecordedError } from '@tidemark/contracts'

/** UTF-16 units, so that an error cannot make a record big. */
const LIMITS = { name: 200, message: 2_000, code: 200, stack: 8_000 }
/** Causes of causes that are told. */
const CAUSE_LIMIT = 5

/**
 * What was thrown, as it can be kept: any value, also one whose properties throw. The causes of an error are
 * told behind its stack. Long texts are cut, and what no store can take is replaced.
 */
export function recordedError(thrown: unknown): RecordedError {
  const { name, message, code, stack } = partsOf(thrown)
  const told = [stack ?? '', ...causesOf(thrown)].filter((text) => text !== '').join('\n')
  return {
    name: storable(name, LIMITS.name),
    message: storable(message, LIMITS.message),
    ...(code === undefined ? {} : { code: storable(code, LIMITS.code) }),
    ...(told === '' ? {} : { stack: storable(told, LIMITS.stack) }),
  }
}

interface ErrorParts {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly stack: string | undefined
}

function partsOf(thrown: unknown): ErrorParts {
  if (typeof thrown !== 'object' || thrown === null) {
    return { name: typeof thrown, message: textOf(thrown), code: undefined, stack: undefined }
  }
  return {
    name: textProperty(thrown, 'name') ?? 'object',
    message: textProperty(thrown, 'message') ?? textOf(thrown),
    code: textProperty(thrown, 'code'),
    stack: textProperty(thrown, 'stack'),
  }
}

function causesOf(thrown: unknown): readonly string[] {
  const causes: string[] = []
  let cause = property(thrown, 'cause')
  while (cause !== undefined && causes.length < CAUSE_LIMIT) {
    const { name, message, stack } = partsOf(cause)
    causes.push(`caused by: ${stack ?? `${name}: ${message}`}`)
    cause = property(cause, 'cause')
  }
  return causes
}

function textProperty(value: object, name: string): string | undefined {
  const found = property(value, name)
  return typeof found === 'string' && found !== '' ? found : undefined
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    const found: unknown = Reflect.get(value, name)
    return found
  } catch {
    // A getter or a proxy that throws must not hide what the observer did.
    return undefined
  }
}

/** Any value as text; JSON of an object without a text of its own. */
function textOf(value: unknown): string {
  try {
    const text = String(value)
    return text === '[object Object]' ? JSON.stringify(value) : text
  } catch {
    return 'a value that has no text'
  }
}

/** Cut, and without what some stores refuse in a text: NUL and halves of surrogate pairs. */
function storable(text: string, limit: number): string {
  const cut = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  return cut.toWellFormed().replaceAll('\0', '\uFFFD')
}
