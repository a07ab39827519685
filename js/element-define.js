// Registers <qwen-chat>. Loaded twice, the first registration stays.
import { QwenChatElement } from './element.js';

if (globalThis.customElements && !customElements.get('qwen-chat')) customElements.define('qwen-chat', QwenChatElement);

export { QwenChatElement };
