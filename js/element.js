// The class of <qwen-chat>, without the registration of its name (element-define.js).
export { QwenChatElement } from './element/qwen-chat.js';
