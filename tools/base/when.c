#include "base/when.h"

#include <stdio.h>
#include <string.h>

/* The beginning of year 1 and the end of year 9999. */
static const long long LEAST = -62135596800000, MOST = 253402300799999;

/* Returns the days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that leap days
   come last. */
static long long days_of(int year, int month, int day) {
    int y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (long long)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 || year % 400 == 0));
}

/* Reads exactly `digits` digits at *s. */
static int number(const char **s, int digits, int lo, int hi, int *out) {
    int value = 0;
    for (int i = 0; i < digits; i++, ++*s) {
        if (**s < '0' || **s > '9') return 0;
        value = value * 10 + (**s - '0');
    }
    *out = value;
    return value >= lo && value <= hi;
}

static int taken(const char **s, char c) { return **s == c ? ++*s, 1 : 0; }

/* Reads at least one digit; digits beyond milliseconds are dropped. */
static int fraction(const char **s, int *milli) {
    int digits = 0, scale = 100;
    for (; **s >= '0' && **s <= '9'; ++*s, digits++, scale /= 10) *milli += (**s - '0') * scale;
    return digits > 0;
}

/* Z, or +02:00, +0200, +02 and the like. Reads nothing if there is none of these. */
static int read_zone(const char **s, int *zone) {
    const char sign = **s;
    int hours, minutes = 0;
    if (taken(s, 'Z')) return *zone = 0, 1;
    if (!taken(s, '+') && !taken(s, '-')) return 1;
    if (!number(s, 2, 0, 14, &hours)) return 0;
    const int more = taken(s, ':') || **s;
    if (more && !number(s, 2, 0, 59, &minutes)) return 0;
    *zone = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
    return 1;
}

int when_parse_clock(const char *s, long long *out, int *zone) {
    int year, month, day, hour = 0, minute = 0, second = 0, milli = 0;
    double seconds;
    *zone = WHEN_NO_ZONE;
    if (!strchr(s + (*s == '-'), '-') && parse_real(s, (double)(LEAST / 1000), (double)(MOST / 1000), &seconds)) {
        *zone = 0;
        *out = (long long)(seconds * 1000 + (seconds < 0 ? -0.5 : 0.5));
        return 1;
    }
    if (!number(&s, 4, 1, 9999, &year) || !taken(&s, '-') || !number(&s, 2, 1, 12, &month) || !taken(&s, '-') ||
        !number(&s, 2, 1, days_in(year, month), &day)) return 0;
    if (*s) {
        if ((!taken(&s, 'T') && !taken(&s, ' ')) || !number(&s, 2, 0, 24, &hour) || !taken(&s, ':') ||
            !number(&s, 2, 0, 59, &minute)) return 0;
        if (taken(&s, ':') && !number(&s, 2, 0, 59, &second)) return 0;
        if (taken(&s, '.') && !fraction(&s, &milli)) return 0;
        if (!read_zone(&s, zone)) return 0;
        const int is_last = year == 9999 && month == 12 && day == 31;
        if (hour == 24 && (minute || second || milli || is_last)) return 0; /* only the day's end has the hour 24 */
    }
    *out = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60000LL + second * 1000LL + milli;
    return !*s;
}

int when_parse(const char *s, long long *out) {
    int zone;
    if (!when_parse_clock(s, out, &zone)) return 0;
    if (zone != WHEN_NO_ZONE) *out -= zone * 60000LL;
    return *out >= LEAST && *out <= MOST;
}

void when_zone(text *t, int zone) {
    const int size = zone < 0 ? -zone : zone;
    text_printf(t, "%c%02d:%02d", zone < 0 ? '-' : '+', size / 60, size % 60);
}

void when_text(text *t, long long when) {
    long long days = when / 86400000 - (when % 86400000 < 0), rest = when - days * 86400000;
    long long z = days + 719468, era = z / 146097, of_era = z - era * 146097;
    long long years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    long long of_year = of_era - (365 * years + years / 4 - years / 100), m = (5 * of_year + 2) / 153;
    long long month = m < 10 ? m + 3 : m - 9;
    text_printf(t, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld", years + era * 400 + (month <= 2), month,
                of_year - (153 * m + 2) / 5 + 1, rest / 3600000, rest / 60000 % 60, rest / 1000 % 60);
    if (rest % 1000) text_printf(t, ".%03lld", rest % 1000);
    text_putc(t, 'Z');
}

void when_for_people(text *t, long long when) {
    text both = TEXT_INIT;
    when_text(&both, when);
    if (text_failed(&both) || both.len < 19) text_no_memory(t);
    else text_printf(t, "%.10s %.8s", both.s, both.s + 11);
    text_free(&both);
}

void seconds_for_people(text *t, double seconds) {
    const long long whole = seconds > 0 && seconds < 1e12 ? (long long)seconds : 0;
    text_printf(t, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}
