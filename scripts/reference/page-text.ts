import { headingAnchor } from '../broken-links.ts'

/** Numbers of rules, in brackets: they are for those who work on Tidemark. */
const RULE = / ?\((?:(?:[A-Z]{2,3}-\d+)(?:, )?)+\)/g

/** Code that may hold backticks itself, as template types do. */
export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``
}

/** The text of a comment for a page: what a site would take for HTML is written so that it is shown. */
export function prose(text: string): string {
  return text
    .replaceAll(RULE, '')
    .split(/(`[^`]*`)/)
    .map((part) =>
      part.startsWith('`')
        ? part
        : part.replaceAll('<', '\\<').replaceAll(/\bERR_[A-Z_]+/g, '`$&`'),
    )
    .join('')
}

/** Lines of what belongs to an item of a list. */
export function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

/** A link to a heading of the page that is code, such as the name of a package. */
export function sectionLink(name: string): string {
  return `[${code(name)}](#${headingAnchor(name)})`
}

/** A list of links to headings of the page that are code. */
export function sectionLinks(names: readonly string[]): string {
  return names.map((name) => `- ${sectionLink(name)}`).join('\n')
}
