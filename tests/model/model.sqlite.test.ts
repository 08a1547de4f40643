import { modelSlice } from './model-slice.ts'

modelSlice({
  engine: 'sqlite',
  sequences: 200,
  place: () => Promise.resolve({ engine: 'sqlite' }),
})
