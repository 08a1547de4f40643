import { parseSync, Visitor, type Expression } from 'oxc-parser'

const SUITES = new Set(['test', 'it', 'describe', 'suite'])
/** What is not run shows nothing. */
const NOT_RUN = new Set(['skip', 'todo'])
/** A text that begins with an ID names a check: a row of a table of tests, a mutant, a fault of a campaign. */
const NAMED_CHECK = /^(?:[A-Z]+-|[DIO])\d+ /

/**
 * The names of the tests of a file, without running it: titles of `test`, `it`, `describe` and `suite`, alone or with
 * `.each` and the like, and checks that are named by a text. Placeholders of templates are shown as an ellipsis.
 */
export function readTestNames(path: string, text: string): readonly string[] {
  const names = new Map<number, string>()
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (title === undefined || title.type === 'SpreadElement' || !isTest(callee)) return
      const name = textOf(title)
      if (name !== undefined) names.set(title.start, name)
    },
    Literal(node) {
      const name = textOf(node)
      if (name !== undefined && NAMED_CHECK.test(name)) names.set(node.start, name)
    },
    TemplateLiteral(node) {
      const name = textOf(node)
      if (name !== undefined && NAMED_CHECK.test(name)) names.set(node.start, name)
    },
    'CallExpression:exit'({ callee, start, end }) {
      if (!isNotRun(callee)) return
      for (const at of names.keys()) if (at >= start && at < end) names.delete(at)
    },
  }).visit(parseSync(path, text).program)
  return [...names.values()]
}

/** `test`, `test.only`, `test.each(rows)`, `describe.skipIf(true).each(rows)`, and so on. */
function isTest(callee: Expression): boolean {
  switch (callee.type) {
    case 'Identifier':
      return SUITES.has(callee.name)
    case 'MemberExpression':
      return isTest(callee.object)
    case 'CallExpression':
      return isTest(callee.callee)
    case 'TaggedTemplateExpression':
      return isTest(callee.tag)
    default:
      return false
  }
}

function isNotRun(callee: Expression): boolean {
  if (callee.type === 'CallExpression') return isNotRun(callee.callee)
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false
  return isTest(callee) && (NOT_RUN.has(callee.property.name) || isNotRun(callee.object))
}

function textOf(node: Expression): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type !== 'TemplateLiteral') return undefined
  return node.quasis.map(({ value }) => value.cooked ?? '').join('…')
}
