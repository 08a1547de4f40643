/** A doc comment by its parts. */
export interface Doc {
  /** What it says before the first tag, as paragraphs and lists of Markdown. */
  readonly text: string
  /** By tag, each on one line: `default`, `range`, `unit`. */
  readonly tags: ReadonlyMap<string, string>
}

const TAG = /(?:^|\s)@(?=(?:default|range|unit|throws|param|returns|remedy|internal|public|see)\b)/

/** Reads a comment whose tags stand last: a sentence after `@default` would be a part of the default. */
export function readDoc(comment: string): Doc {
  const [text = '', ...parts] = comment.split(TAG)
  const tags = new Map(
    parts.map((part): [string, string] => {
      const [tag = ''] = part.split(/\s/, 1)
      return [tag, oneLine(part.slice(tag.length))]
    }),
  )
  return { text: joinLines(text), tags }
}

/** The first sentence of a text. */
export function firstParagraph(text: string): string {
  return text.split('\n\n')[0] ?? ''
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

/** One line for each paragraph and item, and an empty one around lists. */
function joinLines(text: string): string {
  return text
    .trim()
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .replaceAll(/\n{2,}/g, '\n\n')
    .replaceAll(/([^\n])\n(?!\n|- |\d+\. )\s*/g, '$1 ')
}
