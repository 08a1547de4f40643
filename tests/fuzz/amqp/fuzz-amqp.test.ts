import { expect, test } from 'vitest'
import { generateConversation } from './generate-conversation.ts'

test('a conversation follows from seed and number alone', () => {
  for (let index = 0; index < 100; index++) {
    expect(generateConversation(7, index)).toEqual(generateConversation(7, index))
  }
  expect(generateConversation(7, 1)).not.toEqual(generateConversation(8, 1))
})
