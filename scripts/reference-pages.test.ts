import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { referencePages, stalePages } from './reference-pages.ts'
import { commandsPage, variableGaps } from './reference/commands-page.ts'
import { eventGaps, eventsPage } from './reference/events-page.ts'
import { metricGaps } from './reference/metrics-page.ts'
import { optionGaps, optionsPage } from './reference/options-page.ts'
import { PublishedApi } from './reference/read-entries.ts'
import { ROOT } from './repository.ts'

describe('the pages of docs/reference (npm run reference)', () => {
  test('are what the sources say', () => {
    const pages = referencePages()
    expect(stalePages(pages)).toEqual([])
    const [[path = '', text = ''] = []] = pages
    expect(stalePages(new Map([[path, `${text}\n`]]))).toEqual([
      'docs/reference/options.md is not what the sources say: npm run reference',
    ])
  })

  test('say of each event when it is emitted, and of each metric what it measures', () => {
    expect(eventGaps(new PublishedApi(ROOT))).toEqual([])
    expect(metricGaps()).toEqual([])
    const metric = { name: 'tide.level', kind: 'gauge', unit: 'm', description: '', attributes: [] }
    expect(metricGaps([metric as never])).toEqual([
      'tide.level: give it a description and a unit in packages/otel/src/metrics.ts',
    ])
  })

  test('say of each option what it does, its default, unit and range', () => {
    expect(optionGaps(new PublishedApi(ROOT))).toEqual([])
  })
})

describe('commands', () => {
  test('have all of their variables on the page', () => {
    expect(variableGaps(ROOT)).toEqual([])
  })

  test('of create-tidemark and tidemark are there with arguments, options, variables and exit codes', () => {
    const page = commandsPage(ROOT)
    const seek = page.slice(page.indexOf('## `tidemark leases seek`'))
    expect(seek).toMatch(/^- `--to <position>`: beginning, now, .*\(required\)$/m)
    expect(seek).toMatch(/^- `--store <store>`: .*\(variable: `TIDEMARK_STORE`\)$/m)
    expect(seek).toContain('[Exit codes](#exit-codes): 0, 1, 2, 130, 143.')
    expect(page).toContain('## `create-tidemark`')
    expect(page).not.toContain('completion words')
  })
})

describe('options and events are read from sources', () => {
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'tidemark-reference-'))
  })
  afterEach(() => {
    rmSync(root, { recursive: true })
  })

  function api(sources: Readonly<Record<string, string>>): PublishedApi {
    const files = {
      'package.json': JSON.stringify({
        name: '@tidemark/tide',
        exports: { '.': { '@tidemark/source': './src/index.ts' } },
      }),
      ...sources,
    }
    for (const [path, text] of Object.entries(files)) {
      const file = join(root, 'packages/tide', path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    return new PublishedApi(root, ['tide'])
  }

  const INDEX = `export { Tide } from './tide.ts'\nexport type { TideOptions } from './tide.ts'`

  test('with what they inherit, hold and are given to', () => {
    const page = optionsPage(
      api({
        'src/index.ts': INDEX,
        'src/mode.ts': `/** How it moves. */\nexport type Mode = 'low' | 'high'`,
        'src/tide.ts': `
import type { Mode } from './mode.ts'
interface Level {
  /** Height above zero (LE-1). @range any number above 0 @default 2_000 */
  heightMs?: number | undefined
}
/** Of a tide. */
export interface TideOptions extends Omit<Level, 'depth'> {
  mode: Mode
  /** Gets it. @default nothing */
  sink?: Level | ((level: number) => void) | undefined
}
export class Tide {
  constructor({ mode }: TideOptions) {}
}`,
      }),
    )
    expect(page.slice(page.indexOf('## `@tidemark/tide`'))).toBe(`## \`@tidemark/tide\`

### \`TideOptions\`

Of a tide.

Given to \`new Tide()\`.

Has all options of [\`Level\`](#level) without \`depth\`.

- **\`mode\`** \`'low' | 'high'\`; required.
  How it moves.
- **\`sink\`** \`Level | ((level: number) => void)\`; default: nothing; see [\`Level\`](#level).
  Gets it.

### \`Level\`

- **\`heightMs\`** \`number\` (ms); default: \`2_000\`; range: any number above 0.
  Height above zero.
`)
  })

  test('events with their fields, of interfaces and of unions', () => {
    const read = api({
      'src/index.ts': `export type { TideEvents, FlowEvent } from './events.ts'`,
      'src/events.ts': `
interface Place { readonly harbour: string }
type At<Events> = { [Name in keyof Events]: Place & Events[Name] }
interface Levels {
  /** It rises. */
  rose: { readonly metres: number }
}
export interface TideEvents extends At<Levels> {
  fell: Place
}
export type FlowEvent =
  /** It turned. */
  | ({ readonly kind: 'turned' } & Place)
  | { readonly kind: 'stopped' }`,
    })
    const page = eventsPage(read)
    expect(page.slice(page.indexOf('### `TideEvents`'))).toBe(`### \`TideEvents\`

- **\`fell\`**
  Has \`harbour: string\`.
- **\`rose\`** It rises.
  Has \`harbour: string\`, \`metres: number\`.
`)
    expect(page).toContain('- **`turned`** It turned.\n  Has `harbour: string`.\n')
    expect(eventGaps(read)).toEqual([
      '@tidemark/tide FlowEvent stopped: say in a doc comment when it is emitted',
      '@tidemark/tide TideEvents fell: say in a doc comment when it is emitted',
    ])
  })

  test.each([
    ['/** Height. */ height?: string', 'add `@default` and the value, or none'],
    ['/** @default 2 */ height?: string', 'say what it does'],
    ['/** Height. @range above 0 */ height: number', 'add `@unit`: its name tells none'],
    ['/** Height. */ heightMs: number', 'add `@range`, such as 1 to 256, or any number above 0'],
    ['/** Height. @unit ms */ height: string', 'only numbers have a `@unit`'],
  ])('and %s lacks something: %s', (member, gap) => {
    const source = `export interface TideOptions { ${member} }\nexport class Tide {}`
    expect(optionGaps(api({ 'src/index.ts': INDEX, 'src/tide.ts': source }))).toEqual([
      `@tidemark/tide TideOptions.height${member.includes('Ms') ? 'Ms' : ''}: in its doc comment, ${gap}`,
    ])
  })
})
