import { describe, expect, test } from 'vitest'
import {
  checkOptions,
  describeValue,
  option,
  optionGroup,
  optionHaving,
  optionOf,
  optionWhole,
  requiredOption,
  type OptionRules,
} from './check-options.ts'

interface Options {
  readonly feed?: object
  readonly name?: string
  readonly version?: 1 | 2 | 'none'
  readonly port?: number
  readonly keys?: readonly string[]
  readonly policy?: string | { readonly maxAttempts?: number }
  readonly feedOptions?: { readonly startFromBeginning?: boolean; readonly maxItemCount?: number }
}

const rules: OptionRules<Options> = {
  feed: requiredOption(optionHaving('a feed', 'read')),
  name: option.text,
  version: optionOf(1, 2, 'none'),
  port: optionWhole(0, 65_535),
  keys: { ...optionHaving('a list', 'map'), secret: true },
  policy: {
    ...optionGroup({ maxAttempts: option.number }),
    accepts: (value) => typeof value === 'string' || typeof value === 'object',
  },
  feedOptions: optionGroup({ startFromBeginning: option.flag, maxItemCount: option.number }),
}

const feed = { read(): void {} }

/** Options as a program without types gives them. */
function refusal(options: unknown): string {
  try {
    checkOptions(options as Options, rules)
  } catch (error) {
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION' })
    return (error as Error).message
  }
  throw new Error('was accepted')
}

describe('options that cannot be right are refused by name', () => {
  test.each<[unknown, string]>([
    [undefined, 'options must be an object, got undefined'],
    [{}, 'feed must be a feed, got undefined'],
    [{ feed: 'x' }, 'feed must be a feed, got "x"'],
    [{ feed: {} }, 'feed must be a feed, got an object (Object)'],
    [{ feed: Promise.resolve(feed) }, 'feed must be a feed, got a promise (is an await missing?)'],
    [{ feed, name: 5 }, 'name must be a text, got 5'],
    [{ feed, version: '1' }, 'version must be 1 or 2 or "none", got "1"'],
    [{ feed, port: 0.5 }, 'port must be a whole number from 0 to 65535, got 0.5'],
    [{ feed, port: 65_536 }, 'port must be a whole number from 0 to 65535, got 65536'],
    [{ feed, port: '80' }, 'port must be a whole number from 0 to 65535, got "80"'],
    [{ feed, name: null }, 'name must be a text, got null'],
    [{ feed, feedOptions: [] as unknown, name: [] }, 'name must be a text, got an object (Array)'],
    [{ feed, feedOptions: 'all' }, 'feedOptions must be an object of options, got "all"'],
    [
      { feed, feedOptions: { maxItemCount: '5' } },
      'feedOptions.maxItemCount must be a number, got "5"',
    ],
    [{ feed, keys: 'secret' }, 'keys must be a list, got a text'],
    [{ feed, policy: { maxAttempts: '5' } }, 'policy.maxAttempts must be a number, got "5"'],
  ])('%o', (options, message) => {
    expect(refusal(options)).toBe(message)
  })

  test.each<[object, string]>([
    [{ feed, nmae: 'a' }, 'there is no option nmae; did you mean name?'],
    // Not feed, which is in it too.
    [{ feed, feedOption: {} }, 'there is no option feedOption; did you mean feedOptions?'],
    // In the wrong place.
    [
      { feed, startFromBeginning: true },
      'there is no option startFromBeginning; did you mean feedOptions.startFromBeginning?',
    ],
    [
      { feed, feedOptions: { fromBeginning: true } },
      'there is no option feedOptions.fromBeginning; did you mean feedOptions.startFromBeginning?',
    ],
    [{ feed, colour: 'red' }, 'there is no option colour'],
    [{ feed, toString: 'red' }, 'there is no option toString'],
  ])('%o is unknown, and the nearest one is named', (options, message) => {
    expect(refusal(options)).toBe(message)
  })
})

test('what is left out, or undefined, is accepted, and so are others of a union', () => {
  checkOptions({ feed, name: undefined, feedOptions: undefined, policy: 'haltRange' }, rules)
  class Feed {
    read(): void {}
  }
  checkOptions({ feed: new Feed(), policy: { maxAttempts: 5 } }, rules)
})

test('a message shows no password, and no long text', () => {
  expect(describeValue('redis://user:secret@host')).toBe('"redis://…@host"')
  expect(describeValue('x'.repeat(1_000)).length).toBeLessThan(120)
})
