import { expect, test } from 'vitest'
import { readEvents, type ServerEvent } from './read-events.ts'

async function eventsOf(
  pieces: readonly Uint8Array[],
): Promise<{ events: ServerEvent[]; touched: number }> {
  const events: ServerEvent[] = []
  let touched = 0
  const body = ReadableStream.from(pieces)
  for await (const event of readEvents(body, () => (touched += 1))) events.push(event)
  return { events, touched }
}

test('events are read wherever the bytes are cut, comments only touch, and what is not complete is no event', async () => {
  const bytes = new TextEncoder().encode(
    ': still here\n\nevent: view\ndata: {"name":"Zürich"}\n\ndata: plain\n\nevent: update\ndata: cut',
  )
  const expected = [
    { event: 'view', data: '{"name":"Zürich"}' },
    { event: 'message', data: 'plain' },
  ]
  expect(await eventsOf([bytes])).toEqual({ events: expected, touched: 1 })
  const single = [...bytes].map((byte) => Uint8Array.of(byte))
  expect(await eventsOf(single)).toEqual({ events: expected, touched: bytes.length })
})
