import type { BadQueryError } from '../bad-query-error.ts'
import { MAX_ITEMS, MAX_SOURCES } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { Expression, Subquery } from './expression.ts'
import { ExpressionParser } from './expression-parser.ts'
import { parseFrom, parseSubqueryFrom } from './from-parser.ts'
import { checkDistinctOrder, groupSelection } from './grouping.ts'
import { NameScope } from './name-scope.ts'
import { readOperand, type DerivedTable, type OperandContext } from './operand-parser.ts'
import type { FromClause, OrderItem, Query, RowCount, Selection, WrittenQuery } from './query.ts'
import { parseSelectList } from './select-parser.ts'
import { TokenCursor } from './token-cursor.ts'

/** An expression and what was written for it. */
interface Written {
  readonly value: Expression
  readonly text: string
}

const NO_SOURCES: FromClause = { documentName: undefined, sources: [] }

function both(left: Expression | undefined, right: Expression | undefined): Expression | undefined {
  if (left === undefined || right === undefined) return left ?? right
  return { kind: 'logical', operator: 'AND', operands: [left, right] }
}

/** Reads one query; everything it finds is checked, so that a finished query can only fail over values. */
export class QueryParser {
  readonly #cursor: TokenCursor
  readonly #names = new NameScope()
  readonly #context: OperandContext
  readonly #expressions: ExpressionParser

  /** @throws as `tokenize` */
  constructor(text: string, budget: QueryBudget | undefined) {
    this.#cursor = new TokenCursor(text, budget)
    this.#context = {
      cursor: this.#cursor,
      names: this.#names,
      parameterNames: new Set(),
      readSubquery: () => this.#subquery(),
      readDerived: () => this.#derived(),
      clause: 'SELECT',
    }
    this.#expressions = new ExpressionParser(this.#cursor, (parser) =>
      readOperand(parser, this.#context),
    )
  }

  /** A whole query, to the end of the text. */
  query(): WrittenQuery {
    const cursor = this.#cursor
    cursor.expectKeyword('SELECT')
    const distinct = cursor.takeKeyword('DISTINCT')
    const top = cursor.takeKeyword('TOP') ? this.#rowCount('TOP') : undefined
    const { from, fromText, selection } = this.#selectAndFrom(() =>
      parseFrom(this.#expressions, this.#context),
    )
    const wherePlace = cursor.place
    const ownWhere = this.#where()
    const whereText = ownWhere && cursor.textSince(wherePlace + 1)
    const where = both(from?.where, ownWhere)
    const grouping = this.#groupBy()
    const groupBy = grouping.map(({ value }) => value)
    const ordering = this.#orderBy(selection)
    const orderBy = ordering.map(({ value, descending }) => ({ value, descending }))
    const { offset, limit } = this.#offsetLimit(top)
    if (cursor.peek().kind !== 'end') throw cursor.unexpected('the end of the query')
    const readsDocuments = from !== undefined
    const grouped = groupSelection({ selection, groupBy, firstSlot: 0 })
    this.#checkClauses({ distinct, groupBy, orderBy })
    if (distinct) checkDistinctOrder(selection, orderBy)
    if (from?.derived && (grouped.aggregates.length === 0 || groupBy.length > 0)) {
      throw cursor.errorAt(
        cursor.peek(),
        'a subquery with DISTINCT in FROM is supported for aggregates without GROUP BY only: the query ends',
      )
    }
    return {
      text: cursor.text,
      readsDocuments,
      from: from ?? NO_SOURCES,
      where,
      ...grouped,
      distinct,
      groupBy,
      orderBy,
      top,
      offset,
      limit,
      parameterNames: this.#context.parameterNames,
      slots: this.#names.slots,
      texts: {
        from: fromText,
        where: whereText,
        groupBy: grouping.map(({ text }) => text),
        orderBy: ordering.map(({ text }) => text),
      },
    }
  }

  /** The condition of a patch: `from c where …`, also with `SELECT *` before it. */
  condition(): Query {
    const cursor = this.#cursor
    if (cursor.isKeyword('SELECT')) {
      cursor.take()
      cursor.expectSymbol('*')
    }
    cursor.expectKeyword('FROM')
    if (cursor.isSymbol('(')) throw cursor.unexpected('a container name')
    const from = parseFrom(this.#expressions, this.#context)
    const where = this.#where()
    if (where === undefined || cursor.peek().kind !== 'end') {
      throw cursor.unexpected(where ? 'the end of the condition' : 'WHERE')
    }
    const value: Expression = { kind: 'literal', value: true }
    const selection: Selection = { kind: 'value', value, text: 'true' }
    return this.#ofDocuments({ from, where, selection, distinct: false })
  }

  #subquery(): Subquery {
    const cursor = this.#cursor
    const { clause } = this.#context
    cursor.expectKeyword('SELECT')
    const distinct = cursor.takeKeyword('DISTINCT')
    this.#refuseInSubquery(['TOP'])
    const subquery = this.#names.inside(() => {
      const firstSlot = this.#names.slots
      const { from = NO_SOURCES, selection } = this.#selectAndFrom(() =>
        parseSubqueryFrom(this.#expressions, this.#context),
      )
      const where = this.#where()
      const grouped = groupSelection({ selection, groupBy: [], firstSlot })
      return { from, where, distinct, ...grouped }
    })
    this.#refuseInSubquery(['GROUP', 'ORDER', 'OFFSET'])
    this.#context.clause = clause
    return subquery
  }

  /** A subquery in FROM, over the container. */
  #derived(): DerivedTable {
    const cursor = this.#cursor
    const { place } = cursor
    cursor.expectKeyword('SELECT')
    const isDistinct = cursor.takeKeyword('DISTINCT')
    this.#refuseInSubquery(['TOP'])
    const { from, selection, where } = this.#names.inside(() => {
      const read = this.#selectAndFrom(() => parseFrom(this.#expressions, this.#context))
      return { ...read, where: this.#where() }
    })
    this.#refuseInSubquery(['GROUP', 'ORDER', 'OFFSET'])
    const { aggregates } = groupSelection({ selection, groupBy: [], firstSlot: 0 })
    if (from === undefined || from.derived !== undefined || aggregates.length > 0) {
      throw cursor.errorAt(
        cursor.peek(),
        'an aggregate, another DISTINCT or no container in a subquery of FROM is not supported: it ends',
      )
    }
    this.#context.clause = 'FROM'
    const plain = { from, where: both(from.where, where), selection }
    if (!isDistinct) return { ...plain, distinct: undefined }
    const text = cursor.textSince(place)
    return { ...plain, distinct: { ...this.#ofDocuments({ ...plain, distinct: true }), text } }
  }

  /** A query that neither groups nor orders nor bounds what it finds. */
  #ofDocuments(parts: Pick<Query, 'from' | 'where' | 'selection' | 'distinct'>): Query {
    return {
      ...parts,
      text: this.#cursor.text,
      readsDocuments: true,
      groupBy: [],
      aggregates: [],
      orderBy: [],
      top: undefined,
      offset: undefined,
      limit: undefined,
      parameterNames: this.#context.parameterNames,
      slots: this.#names.slots,
    }
  }

  #refuseInSubquery(keywords: readonly string[]): void {
    const found = keywords.find((word) => this.#cursor.isKeyword(word))
    if (found === undefined) return
    throw this.#cursor.errorAt(this.#cursor.peek(), `${found} in a subquery is not supported,`)
  }

  /** FROM is read before SELECT, which stands before it and speaks of its names. */
  #selectAndFrom<T extends FromClause | undefined>(
    readFrom: () => T,
  ): { from: T | undefined; fromText: string | undefined; selection: Selection } {
    const cursor = this.#cursor
    const selectPlace = cursor.place
    let from: T | undefined
    let fromText: string | undefined
    let fromPlace: number | undefined
    let endPlace = selectPlace
    if (this.#skipToFrom()) {
      fromPlace = cursor.place
      cursor.expectKeyword('FROM')
      this.#context.clause = 'FROM'
      from = readFrom()
      fromText = cursor.textSince(fromPlace + 1)
      endPlace = cursor.place
    }
    cursor.goTo(selectPlace)
    this.#context.clause = 'SELECT'
    const selection = parseSelectList(this.#expressions, this.#context, from)
    if (fromPlace !== undefined) {
      if (cursor.place !== fromPlace) throw cursor.unexpected('FROM')
      cursor.goTo(endPlace)
    }
    return { from, fromText, selection }
  }

  /** Goes to the FROM that belongs to this SELECT; false when there is none. */
  #skipToFrom(): boolean {
    const cursor = this.#cursor
    for (let depth = 0; cursor.peek().kind !== 'end'; cursor.take()) {
      const { kind, text } = cursor.peek()
      if (kind === 'symbol' && '([{'.includes(text)) depth++
      if (kind === 'symbol' && ')]}'.includes(text)) depth--
      if (depth < 0) return false
      const isProperty = cursor.place > 0 && cursor.isSymbol('.', -1)
      if (depth === 0 && cursor.isKeyword('FROM') && !isProperty) return true
    }
    return false
  }

  #where(): Expression | undefined {
    if (!this.#cursor.takeKeyword('WHERE')) return undefined
    this.#context.clause = 'WHERE'
    return this.#expressions.expression()
  }

  #groupBy(): Written[] {
    const cursor = this.#cursor
    if (!cursor.takeKeyword('GROUP')) return []
    cursor.expectKeyword('BY')
    this.#context.clause = 'GROUP BY'
    const items: Written[] = []
    do {
      if (items.length === MAX_ITEMS) throw this.#tooMany('GROUP BY', MAX_ITEMS)
      const { place } = cursor
      items.push({ value: this.#expressions.expression(), text: cursor.textSince(place) })
    } while (cursor.takeSymbol(','))
    return items
  }

  #tooMany(clause: string, most: number): BadQueryError {
    return this.#cursor.errorAt(
      this.#cursor.peek(),
      `more than ${most} expressions of ${clause} stand`,
    )
  }

  #orderBy(selection: Selection): (OrderItem & Written)[] {
    const cursor = this.#cursor
    if (!cursor.takeKeyword('ORDER')) return []
    cursor.expectKeyword('BY')
    this.#context.clause = 'ORDER BY'
    const items: (OrderItem & Written)[] = []
    do {
      if (items.length === MAX_SOURCES) throw this.#tooMany('ORDER BY', MAX_SOURCES)
      const { place } = cursor
      const { value, text = cursor.textSince(place) } = this.#selectedName(selection) ?? {
        value: this.#expressions.expression(),
      }
      const descending = cursor.takeKeyword('DESC')
      if (!descending) cursor.takeKeyword('ASC')
      items.push({ value, descending, text })
    } while (cursor.takeSymbol(','))
    return items
  }

  /** ORDER BY may also name a column of SELECT by its alias. */
  #selectedName(selection: Selection): Written | undefined {
    const token = this.#cursor.peek()
    if (selection.kind !== 'list' || !this.#cursor.isName()) return undefined
    if (this.#names.slotOf(token.text) !== undefined) return undefined
    if (['.', '[', '('].some((symbol) => this.#cursor.isSymbol(symbol, 1))) return undefined
    const item = selection.items.find(({ name }) => name === token.text)
    if (item !== undefined) this.#cursor.take()
    return item
  }

  #offsetLimit(top: RowCount | undefined): Pick<Query, 'offset' | 'limit'> {
    const cursor = this.#cursor
    const token = cursor.peek()
    if (cursor.isKeyword('LIMIT'))
      throw cursor.errorAt(token, 'LIMIT without OFFSET is not supported,')
    if (!cursor.takeKeyword('OFFSET')) return { offset: undefined, limit: undefined }
    if (top !== undefined)
      throw cursor.errorAt(token, 'TOP together with OFFSET LIMIT is not supported,')
    const offset = this.#rowCount('OFFSET')
    cursor.expectKeyword('LIMIT')
    return { offset, limit: this.#rowCount('LIMIT') }
  }

  #rowCount(clause: string): RowCount {
    const token = this.#cursor.take()
    if (token.kind === 'parameter') {
      this.#context.parameterNames.add(token.text)
      return { clause, value: { kind: 'parameter', name: token.text } }
    }
    if (token.kind === 'number' && Number.isSafeInteger(token.value)) {
      return { clause, value: { kind: 'literal', value: token.value } }
    }
    throw this.#cursor.errorAt(
      token,
      `${clause} takes a whole number or a parameter, found '${token.text}'`,
    )
  }

  #checkClauses(query: {
    distinct: boolean
    groupBy: readonly Expression[]
    orderBy: readonly OrderItem[]
  }): void {
    const { distinct, groupBy, orderBy } = query
    const start = this.#cursor.peek()
    if (orderBy.length > 0 && groupBy.length > 0) {
      throw this.#cursor.errorAt(
        start,
        'ORDER BY together with GROUP BY is not supported: the query ends',
      )
    }
    if (distinct && groupBy.length > 0) {
      throw this.#cursor.errorAt(
        start,
        'DISTINCT together with GROUP BY is not supported: the query ends',
      )
    }
  }
}
