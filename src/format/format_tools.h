/* SPDX-License-Identifier: MIT
 * Calls of tools as Qwen's templates have them: <tool_call>, a line feed, {"name": NAME, "arguments": OBJECT}, a line feed,
 * </tool_call>; further ones behind a line feed. */
#ifndef QW_FORMAT_TOOLS_H
#define QW_FORMAT_TOOLS_H

#include "format/format_maker.h"
#include "format/schema_dom.h"

/* root: {"type": "tools", "tools": [{"name": TEXT, "parameters": SCHEMA}, ...], "parallel": BOOLEAN}: one call, or with parallel one
 * or more. What chat() makes of tool_choice; the object's white space counts as that of a second level. Errors: usage
 * (names the tool), memory. */
qw_status qw_format_read_tools(const qw_format_maker *maker, const qw_dom *root, qw_language *out, qw_error *err);

#endif
