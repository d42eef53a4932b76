// Counts the tokens of each text of a JSON array on the standard input, and writes an array of
// numbers. The vocabulary is o200k_base, that of OpenAI's models since GPT-4o.
import { readFileSync } from 'node:fs'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

const texts = JSON.parse(readFileSync(0, 'utf8'))
process.stdout.write(JSON.stringify(texts.map((text) => countTokens(text))))
