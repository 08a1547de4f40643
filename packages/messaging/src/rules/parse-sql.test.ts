import { systemRandom } from '@tidemark/contracts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InvalidRuleError } from '../errors/invalid-rule-error.ts'
import { evaluateFilter } from './evaluate.ts'
import { GivenProperties } from './seen-properties.ts'
import { EvaluationError, WorkBudget } from './work-budget.ts'
import { parseAction, parseFilter } from './parse-sql.ts'
import { runAction } from './run-action.ts'

const HEAD = { bodyKind: 'json', messageId: 'm', properties: { a: 1, b: 'x', c: true } } as const

const PIECES =
  "a b c @p newid() p('a') missing sys.Label user.a [a] 1 2.5 'x' '%x_' NULL = <> < + - * / % ( ) , ; . AND OR NOT IN LIKE ESCAPE EXISTS IS TRUE FALSE SET REMOVE".split(
    ' ',
  )

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 1100 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(' ')),
)

/** What it gives, or an error that is no surprise. */
function attempt(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    if (error instanceof InvalidRuleError || error instanceof EvaluationError) return undefined
    throw error
  }
}

function fullBudget(): WorkBudget {
  const budget = new WorkBudget()
  budget.begin(0)
  return budget
}

test('TOP-05 whatever a filter says, it is refused, fails, or is true or false', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const evaluation = new GivenProperties(HEAD, fullBudget(), systemRandom)
      const result = attempt(() =>
        evaluateFilter(parseFilter({ expression: text, parameters: { '@p': 1 } }), evaluation),
      )
      expect([true, false, undefined]).toContain(result)
    }),
    { seed: 15, numRuns: 3000 },
  )
})

test('TOP-06 whatever an action says, it is refused, fails, or makes changes', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const evaluation = new GivenProperties(HEAD, fullBudget(), systemRandom)
      attempt(() =>
        JSON.stringify(
          runAction(
            parseAction({ expression: `SET a = ${text}`, parameters: { '@p': 1 } }),
            evaluation,
          ),
        ),
      )
    }),
    { seed: 15, numRuns: 3000 },
  )
})

test('the longest expressions that there can be do not exhaust the stack', () => {
  const evaluation = new GivenProperties(HEAD, fullBudget(), systemRandom)
  for (const text of [
    `${'1+'.repeat(500)}1=501`,
    `${'a=1 OR '.repeat(145)}a=1`,
    `${'('.repeat(63)}1=1${')'.repeat(63)}`,
  ]) {
    expect(
      evaluateFilter(parseFilter({ expression: text, parameters: { '@p': 1 } }), evaluation),
    ).toBe(true)
  }
})
