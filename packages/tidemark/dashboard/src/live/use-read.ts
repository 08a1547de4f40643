import { useEffect, useState } from 'preact/hooks'
import type { Problem, ReadName, Reads } from '../../../src/dashboard/views.ts'
import { problemOf, read } from './request.ts'

export interface ReadState<Answer> {
  /** The last one, also while another is on its way. */
  readonly answer: Answer | undefined
  readonly problem: Problem | undefined
}

/** Reads once for each query, and again when `times` changes. */
export function useRead<Name extends ReadName>(
  name: Name,
  query: Reads[Name]['query'],
  times = 0,
): ReadState<Reads[Name]['answer']> {
  const [state, setState] = useState<ReadState<Reads[Name]['answer']>>(NOTHING)
  useEffect(() => {
    const ended = new AbortController()
    read(name, query, ended.signal).then(
      (answer) => setState({ answer, problem: undefined }),
      (error: unknown) => {
        if (!ended.signal.aborted) setState({ answer: undefined, problem: problemOf(error) })
      },
    )
    return () => ended.abort()
  }, [name, JSON.stringify(query), times])
  return state
}

const NOTHING = { answer: undefined, problem: undefined }
