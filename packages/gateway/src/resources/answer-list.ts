import { BadRequestError } from '@tidemark/contracts'
import { type JsonRecord } from '@tidemark/contracts/internal'
import type { Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { listBody } from '../protocol/list-body.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import { itemCount } from '../protocol/request-values.ts'
import { parseInTurn } from '../query/parse-in-turn.ts'
import { runQuery } from '../query/execution/run-query.ts'
import type { DocumentSource } from '../query/document-source.ts'
import type { Json, JsonObject } from '../query/json.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'
import { parseQueryBody, type QueryBody } from '../requests/query-body.ts'
import { isQuery } from '../requests/query-or.ts'

interface ResourceList<Item> {
  readonly rid: string
  /** Of the array in the answer. */
  readonly name: string
  readonly items: readonly Item[]
  /** Made only of those that are read: a definition may be large. */
  readonly bodyOf: (item: Item) => JsonRecord
}

const EVERYTHING: QueryBody = { text: 'SELECT * FROM c', parameters: [] }

/**
 * A list of databases, containers or offers, or what a query makes of them, in pages.
 *
 * @throws ERR_BAD_REQUEST, ERR_BAD_QUERY
 */
export async function answerList<Item>(
  request: GatewayRequest,
  { rid, name, items, bodyOf }: ResourceList<Item>,
): Promise<Answer> {
  const budget = request.queryBudget()
  const { text, parameters } = isQuery(request)
    ? parseQueryBody(await request.readBody(), budget)
    : EVERYTHING
  const page = await runQuery(await parseInTurn(text, budget), {
    parameters,
    source: listSource(items, bodyOf),
    scope: `${name} ${rid}`,
    continuation: request.header(HEADER.continuation),
    budget,
    maxItemCount: itemCount(HEADER.maxItemCount, request.header(HEADER.maxItemCount)),
    signal: request.signal,
  })
  return listAnswer({ rid, name, items: page.items }, page.continuation)
}

function listAnswer(
  { rid, name, items }: { rid: string; name: string; items: readonly unknown[] },
  continuation: string | undefined,
): Answer {
  return {
    status: 200,
    headers: {
      [HEADER.requestCharge]: chargeText(METADATA_CHARGE),
      [HEADER.itemCount]: String(items.length),
      ...(continuation !== undefined && { [HEADER.continuation]: continuation }),
    },
    body: listBody(
      { rid, name },
      items.map((item) => JSON.stringify(item)),
    ),
  }
}

/** A list in memory; positions are numbers of entries. */
function listSource<Item>(
  items: readonly Item[],
  bodyOf: (item: Item) => JsonRecord,
): DocumentSource {
  return {
    read: async ({ after, maxDocuments }) => {
      const begin = after === undefined ? 0 : entryOf(after)
      const documents = items.slice(begin, begin + maxDocuments).map((item) => asJson(bodyOf(item)))
      const end = begin + documents.length
      return {
        documents,
        positionAfter: (index) => String(begin + index + 1),
        position: String(end),
        done: end >= items.length,
      }
    },
  }
}

/** @throws ERR_BAD_REQUEST: a position comes out of a continuation, which a client can write itself */
function entryOf(position: string): number {
  if (/^\d{1,15}$/.test(position)) return Number(position)
  throw new BadRequestError('Invalid Continuation Token: it has no place in this list')
}

function asJson(item: JsonRecord): JsonObject {
  // Only JSON is kept of them, so that nothing else can be in there.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return item as { readonly [name: string]: Json }
}
