import { code, indented, prose, sectionLink, sectionLinks } from './page-text.ts'
import type { PublishedApi } from './read-entries.ts'
import { readEvents, type EventEntry, type EventTable } from './read-events.ts'

const HEAD = `# Events

Every event: when it is emitted, and what is in it. Hosts and stores have listeners (\`host.on('leaseLost', …)\`, \`store.events.on('swept', …)\`);
jobs call \`onEvent\` with one object, whose \`kind\` is the event. [Options](options.md) say where to put listeners, and
[metrics](metrics.md) are counted from the same events.

This page is written by \`npm run reference\` from the declarations in the sources.
`

export function eventsPage(api: PublishedApi): string {
  const packages = [...readEvents(api)]
  const contents = sectionLinks(packages.flatMap(([, tables]) => tables.map(({ name }) => name)))
  const parts = packages.map(
    ([name, tables]) => `## \`${name}\`\n\n${tables.map(tableText).join('\n')}`,
  )
  return [HEAD, contents, '', parts.join('\n')].join('\n')
}

/** Events whose declaration does not say when they are emitted. */
export function eventGaps(api: PublishedApi): readonly string[] {
  return [...readEvents(api)].flatMap(([packageName, tables]) =>
    tables.flatMap(({ name, events }) =>
      events
        .filter(({ about }) => about === '')
        .map(
          (event) =>
            `${packageName} ${name} ${event.name}: say in a doc comment when it is emitted`,
        ),
    ),
  )
}

function tableText({ name, about, events, includes }: EventTable): string {
  const paragraphs = [`### \`${name}\``]
  if (about !== '') paragraphs.push(prose(about))
  for (const one of includes) paragraphs.push(`Has all events of ${sectionLink(one)}.`)
  paragraphs.push(events.map(eventText).join('\n'))
  return `${paragraphs.join('\n\n')}\n`
}

function eventText({ name, about, fields }: EventEntry): string {
  const lines = [`- **\`${name}\`** ${prose(about)}`.trimEnd()]
  if (fields.length > 0) {
    lines.push(`  Has ${fields.map((one) => code(`${one.name}: ${one.type}`)).join(', ')}.`)
  }
  const told = fields.filter((one) => one.about !== '')
  lines.push(...told.map((one) => indented(`- \`${one.name}\`: ${prose(one.about)}`)))
  return lines.join('\n')
}
