/* CPUs and memory. */
#include "base/resident.h"

#include <mach/mach.h>
#undef sysconf

int macos_affinity(macos_cpus *set) {
    set->count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return set->count > 0 ? 0 : -1;
}

/* Pages that hold nothing, or something that can be read again. */
static long available_pages(void) {
    vm_statistics64_data_t memory;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    mach_port_t host = mach_host_self();
    int good = host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&memory, &count) == KERN_SUCCESS;
    mach_port_deallocate(mach_task_self(), host);
    return good ? (long)memory.free_count + (long)memory.inactive_count : 0;
}

long macos_sysconf(int name) { return name == _SC_AVPHYS_PAGES ? available_pages() : sysconf(name); }

size_t mem_resident(void) {
    mach_task_basic_info_data_t memory;
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    int good = task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&memory, &count) == KERN_SUCCESS;
    return good ? (size_t)memory.resident_size : 0;
}
