/* sys/prctl.h, which macOS lacks. A child cannot be made to end with its parent: ffmpeg ends when it next writes to one
   of its pipes, which nobody reads any more. */
#ifndef REID_MACOS_PRCTL_H
#define REID_MACOS_PRCTL_H

#define PR_SET_PDEATHSIG 1
#define prctl(what, signal) ((void)(signal), 0)

#endif
