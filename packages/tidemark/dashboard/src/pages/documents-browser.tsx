import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type {
  CollectionQuery,
  DocumentRow,
  DocumentsQuery,
  Problem,
  RangeRow,
} from '../../../src/dashboard/views.ts'
import { plural } from '../format.ts'
import { problemOf, read } from '../live/request.ts'
import { route, setQuery, valuesOf } from '../route.ts'
import { Card, ProblemNotice } from '../ui/parts.tsx'
import { DocumentsTable } from './documents-table.tsx'
import { RangeSelect } from './range-select.tsx'

export interface DocumentsBrowserProps extends CollectionQuery {
  /** Live ones. */
  readonly ranges: readonly RangeRow[]
}

interface Found {
  readonly documents: readonly DocumentRow[]
  readonly continuation: string | null
  readonly caughtUp: boolean
}

/** Documents by id and key, by key, by range, or the feed from a position. What is looked for stands in the address. */
export function DocumentsBrowser({ database, collection, ranges }: DocumentsBrowserProps): VNode {
  const asked = askedFor({ database, collection })
  const [found, setFound] = useState<Found | Problem | undefined>()
  const [isBusy, setIsBusy] = useState(false)
  const look = async (continuation?: string): Promise<void> => {
    setIsBusy(true)
    try {
      const query = continuation === undefined ? asked : { ...asked, continuation }
      setFound(await read('documents', query))
    } catch (error) {
      setFound(problemOf(error))
    } finally {
      setIsBusy(false)
    }
  }
  useEffect(() => void look(), [JSON.stringify(asked)])
  const next = found !== undefined && 'documents' in found ? found.continuation : null
  return (
    <Card title="Documents">
      <div class="body">
        <SearchForm key={JSON.stringify(asked)} asked={asked} ranges={ranges} />
      </div>
      {found !== undefined && 'code' in found && (
        <div class="body">
          <ProblemNotice problem={found} />
        </div>
      )}
      {found !== undefined && 'documents' in found && (
        <>
          <DocumentsTable
            caption="Documents that were found"
            documents={found.documents}
            empty="There is nothing."
          />
          <div class="body form">
            <button
              type="button"
              disabled={next === null || isBusy}
              onClick={() => void look(next ?? undefined)}
            >
              {asked.from === undefined ? 'Next page' : 'Later ones'}
            </button>
            <button type="button" disabled={isBusy} onClick={() => void look()}>
              From the start
            </button>
            <span class="muted" role="status">
              {isBusy ? 'Reading …' : plural(found.documents.length, 'document')}
              {!isBusy && asked.from !== undefined && found.caughtUp && ', caught up'}
            </span>
          </div>
        </>
      )}
    </Card>
  )
}

function askedFor(place: CollectionQuery): DocumentsQuery {
  const values = valuesOf(route.value.query, ['id', 'key', 'range', 'from'])
  const { key } = values
  return { ...place, ...values, ...(key === undefined ? {} : { key: keyJson(key) }) }
}

/** What is no JSON is a text: nobody likes to type quotes. */
function keyJson(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return JSON.stringify(text)
  }
}

interface SearchFormProps {
  readonly asked: DocumentsQuery
  readonly ranges: readonly RangeRow[]
}

function SearchForm({ asked, ranges }: SearchFormProps): VNode {
  const [id, setId] = useState(asked.id ?? '')
  const [key, setKey] = useState(route.value.query.get('key') ?? '')
  const [range, setRange] = useState(asked.range ?? '')
  const [from, setFrom] = useState(asked.from ?? '')
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        setQuery({ id, key, range, from })
      }}
    >
      <TextField label="Id" value={id} onChange={setId} />
      <TextField label="Partition key" value={key} onChange={setKey} />
      <RangeSelect ranges={ranges} value={range} onChange={setRange} />
      <TextField
        label="Feed from"
        value={from}
        onChange={setFrom}
        placeholder="beginning, now, time, lsn:5"
      />
      <button type="submit" class="main">
        Look
      </button>
    </form>
  )
}

interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
}

function TextField({ label, value, onChange, placeholder }: TextFieldProps): VNode {
  return (
    <label>
      {label}
      <input
        type="text"
        spellcheck={false}
        value={value}
        placeholder={placeholder}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  )
}
