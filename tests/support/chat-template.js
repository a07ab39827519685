// A GGUF file with a chat template that it did not have: the page's and the command line's chat is tested with the tiny
// model, which is a base model.

export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const COUNT_AT = 16;
const KEYS_AT = 24;
const STRING = 8;
/** general.alignment where the file does not say otherwise: what is put in has a multiple of it, so all else stays. */
const ALIGNMENT = 32;

/**
 * @param {Buffer} gguf A file of version 3 without tokenizer.chat_template.
 * @param {string} template
 */
export function withChatTemplate(gguf, template) {
  const entry = (text) => {
    const [key, value] = [Buffer.from('tokenizer.chat_template'), Buffer.from(text)];
    const bytes = Buffer.alloc(8 + key.length + 4 + 8);
    bytes.writeBigUInt64LE(BigInt(key.length), 0);
    key.copy(bytes, 8);
    bytes.writeUInt32LE(STRING, 8 + key.length);
    bytes.writeBigUInt64LE(BigInt(value.length), 12 + key.length);
    return Buffer.concat([bytes, value]);
  };
  const comment = '{##}';
  const missing = -(entry(template).length + comment.length) & (ALIGNMENT - 1);
  const padded = entry(`${template}{#${'-'.repeat(missing)}#}`);
  const head = Buffer.from(gguf.subarray(0, KEYS_AT));
  head.writeBigUInt64LE(head.readBigUInt64LE(COUNT_AT) + 1n, COUNT_AT);
  return Buffer.concat([head, padded, gguf.subarray(KEYS_AT)]);
}
