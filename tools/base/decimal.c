#include "base/decimal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A float is m · 2^e with m < 2^24, so m · 5^k · 2^(e + k) is value · 10^k. Up to k = 17 the product with 5^k fits into
   64 bits, and the rest is a shift: the digits are exact, and are rounded once, as printf does. */
enum { DECIMALS = 9, LEAST_EXPONENT = -9, MOST_EXPONENT = DECIMALS - 1, FIXED_FROM = -4 }; /* exponents of ten */

static const uint64_t FIVES[] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625,
    30517578125, 152587890625, 762939453125,
};
static const uint32_t LEAST_NUMBER = 100000000, TOO_LARGE = 1000000000; /* of DECIMALS digits, and of one more */

/* Shifts to the right, and rounds to the nearest number, halves to the even one. */
static uint64_t round_shift(uint64_t n, int bits) {
    if (bits > 63) return 0; /* or 1: too few digits in any case */
    const uint64_t half = (uint64_t)1 << (bits - 1), rest = n & ((half << 1) - 1), whole = n >> bits;
    return whole + (rest > half || (rest == half && whole & 1));
}

/* Returns the digits of m · 2^e as a whole number, and the exponent of the first one; 0 if it is out of range. */
static uint32_t digits_of(uint32_t m, int e, int *exponent) {
    int ten = ((e + 23) * 1233) >> 12; /* log10(2) = 1233 / 4096: the exponent, or one too few */
    if (ten < LEAST_EXPONENT) ten = LEAST_EXPONENT;
    for (; ten <= MOST_EXPONENT; ten++) {
        const int k = DECIMALS - 1 - ten, bits = -(e + k);
        const uint64_t n = m * FIVES[k], digits = bits > 0 ? round_shift(n, bits) : n << -bits;
        if (digits < LEAST_NUMBER) return 0; /* only at LEAST_EXPONENT */
        *exponent = ten;
        if (digits < TOO_LARGE) return (uint32_t)digits;
    }
    return 0;
}

/* Two digits of each number below 100. */
static const char TWO_DIGITS[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static void write_four(char *to, uint32_t digits) {
    memcpy(to, TWO_DIGITS + 2 * (digits / 100), 2);
    memcpy(to + 2, TWO_DIGITS + 2 * (digits % 100), 2);
}

/* Writes the digits. Returns their number without zeros at the end. */
static int write_digits(char number[DECIMALS], uint32_t digits) {
    const uint32_t rest = digits % LEAST_NUMBER;
    int count = DECIMALS;
    number[0] = (char)('0' + digits / LEAST_NUMBER);
    write_four(number + 1, rest / 10000);
    write_four(number + 5, rest % 10000);
    while (count > 1 && number[count - 1] == '0') count--;
    return count;
}

static size_t write_fixed(char *out, const char *number, int count, int exponent) {
    const int whole = exponent + 1; /* digits before the point, if any are */
    if (exponent < 0) {
        memcpy(out, "0.000", 5); /* FIXED_FROM: at most three zeros */
        memcpy(out + 1 - exponent, number, DECIMALS);
        return (size_t)(1 - exponent + count);
    }
    memcpy(out, number, (size_t)whole);
    if (count <= whole) return (size_t)whole;
    out[whole] = '.';
    memcpy(out + whole + 1, number + whole, (size_t)(count - whole));
    return (size_t)count + 1;
}

/* An exponent from -5 to -9. */
static size_t write_scientific(char *out, const char *number, int count, int exponent) {
    char *at = out;
    *at++ = number[0];
    if (count > 1) *at++ = '.';
    for (int i = 1; i < count; i++) *at++ = number[i];
    *at++ = 'e', *at++ = '-', *at++ = '0', *at++ = (char)('0' - exponent);
    return (size_t)(at - out);
}

size_t decimal_float(char out[DECIMAL_FLOAT], float value) {
    uint32_t bits;
    int exponent = 0;
    char number[DECIMALS] = {'0'}; /* half of the values behind a ReLU are zeros */
    memcpy(&bits, &value, sizeof bits);
    const int e = (int)(bits >> 23 & 255), zero = !(bits << 1), negative = (int)(bits >> 31);
    const uint32_t m = (bits & 0x7fffff) | 0x800000, digits = e > 0 ? digits_of(m, e - 150, &exponent) : 0;
    if (!digits && !zero) return (size_t)snprintf(out, DECIMAL_FLOAT, "%.9g", (double)value);
    const int count = zero ? 1 : write_digits(number, digits);
    out[0] = '-';
    return (size_t)negative + (exponent < FIXED_FROM ? write_scientific : write_fixed)(out + negative, number, count,
                                                                                       exponent);
}

void decimal_floats(text *t, const float *values, size_t count) {
    char number[1 + DECIMAL_FLOAT] = ",";
    for (size_t i = 0; i < count; i++) {
        const size_t n = decimal_float(number + 1, values[i]);
        text_add(t, i ? number : number + 1, n + (i > 0));
    }
}
