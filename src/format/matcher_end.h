/* SPDX-License-Identifier: MIT
 * How many bytes end what is open. */
#ifndef QW_MATCHER_END_H
#define QW_MATCHER_END_H

#include "format/matcher_open.h"

/* Bytes from the frame, where it is resumed, to the end of the text; kept. At least what is needed, and more only where names
 * of keys run short. */
uint32_t qw_frame_least(qw_opening *m, uint32_t id);

#endif
