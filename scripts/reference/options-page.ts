import type { PublishedApi } from './read-entries.ts'
import {
  readOptions,
  type OptionEntry,
  type OptionTable,
  type PackageTables,
} from './read-options.ts'
import { code, indented, prose, sectionLinks } from './page-text.ts'

const HEAD = `# Options

Every option that you can give to a function or class of a published package, by package. Objects of options are linked where one is in
another, or has the options of another one: each is described once.

After the name of an option stand its type and, of numbers, the unit; then what it is if you leave it out (or give \`undefined\`), and
which values it takes. Numbers are whole unless the range says *any number*. Most options are checked when you pass them: one that does not
exist, that has another type or is out of its range is \`ERR_INVALID_OPTION\`, which names it.

This page is written by \`npm run reference\` from the declarations in the sources.
`
/** Calls that are named for an object of options that many take. */
const MOST_CALLS = 3

export function optionsPage(api: PublishedApi): string {
  const packages = readOptions(api)
  const links = new Links(packages)
  const parts = packages.map(
    ({ packageName, tables }) =>
      `## \`${packageName}\`\n\n${tables.map((table) => tableText(table, links)).join('\n')}`,
  )
  const contents = sectionLinks(packages.map(({ packageName }) => packageName))
  return `${HEAD}\n${contents}\n\n${parts.join('\n')}`
}

/** What declarations lack, one line each, with what to do. */
export function optionGaps(api: PublishedApi): readonly string[] {
  return readOptions(api).flatMap(({ packageName, tables }) =>
    tables.flatMap(({ name, options }) =>
      options.flatMap((option) =>
        option.gaps.map(
          (gap) => `${packageName} ${name}.${option.name}: in its doc comment, ${gap}`,
        ),
      ),
    ),
  )
}

function tableText(
  { name, about, takenBy, options, inherited }: OptionTable,
  links: Links,
): string {
  const paragraphs = [`### \`${name}\``]
  if (about !== '') paragraphs.push(prose(about))
  if (takenBy.length > 0) {
    const calls = takenBy.slice(0, MOST_CALLS).map(code).join(', ')
    paragraphs.push(`Given to ${calls}${takenBy.length > MOST_CALLS ? ' and others' : ''}.`)
  }
  for (const { from, taken, left } of inherited) {
    const only = taken === undefined ? 'all options' : `the options ${taken.map(code).join(', ')}`
    const without = left.length === 0 ? '' : ` without ${left.map(code).join(', ')}`
    paragraphs.push(`Has ${only} of ${links.to(from.name)}${without}.`)
  }
  // Else a list that ends the paragraphs would run into the list of options.
  if (/^- .*$/.test(paragraphs.at(-1)?.split('\n').at(-1) ?? '')) paragraphs.push('Its options:')
  if (options.length > 0) {
    paragraphs.push(options.map((option) => optionText(option, links)).join('\n'))
  }
  return `${paragraphs.join('\n\n')}\n`
}

function optionText(option: OptionEntry, links: Links): string {
  const { name, type, unit, byDefault, range, effect, holds } = option
  const facts = [
    unit === undefined ? code(type) : `${code(type)} (${unit})`,
    byDefault === 'required' ? 'required' : `default: ${defaultText(byDefault)}`,
    ...(range === undefined ? [] : [`range: ${range}`]),
    ...(holds.length === 0
      ? []
      : [`see ${[...new Set(holds)].map((one) => links.to(one)).join(', ')}`]),
  ]
  const [first = '', ...rest] = prose(effect).split('\n')
  const more = rest.length === 0 ? '' : `\n${indented(rest.join('\n'))}`
  return `- **\`${name}\`** ${facts.join('; ')}.\n  ${first}${more}`
}

/** A value as code, also with a remark behind it, and a sentence as it is. */
function defaultText(text: string): string {
  const { value, remark = '' } = VALUE.exec(text)?.groups ?? {}
  return value === undefined ? prose(text) : `${code(value)}${prose(remark)}`
}

const VALUE =
  /^(?<value>-?[\d_.]+|'[^']*'|true|false|null|undefined|\[.*\]|P[\dTDHMS]+)(?<remark>(?: \(|[:,] ).*)?$/

/** Links to objects of options. Two packages may have one name: the later heading gets a number. */
class Links {
  readonly #anchors = new Map<string, string>()

  constructor(packages: readonly PackageTables[]) {
    for (const { tables } of packages) {
      for (const { name } of tables) {
        if (!this.#anchors.has(name)) this.#anchors.set(name, name.toLowerCase())
      }
    }
  }

  to(name: string): string {
    const anchor = this.#anchors.get(name)
    return anchor === undefined ? code(name) : `[${code(name)}](#${anchor})`
  }
}
