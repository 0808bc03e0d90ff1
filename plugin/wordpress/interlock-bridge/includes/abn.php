<?php
/**
 * Australian Business Numbers.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Reports whether the text is an ABN: eleven ASCII digits, the first not 0,
 * that satisfy the register's checksum.
 *
 * @param string $text Without separators.
 */
function interlock_bridge_is_abn( string $text ): bool {
	if ( ! preg_match( '/\A[1-9][0-9]{10}\z/', $text ) ) {
		return false;
	}
	$sum = -10; // One is taken from the first digit, whose weight is 10.
	foreach ( array( 10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 ) as $place => $weight ) {
		$sum += $weight * (int) $text[ $place ];
	}
	return 0 === $sum % 89;
}

/**
 * Reports whether the ABN stands in the text as a number of its own, by the
 * rules of the gateway's selector: perhaps with single spaces or hyphens
 * inside, no further digit before or behind it, and nothing glued to it, seen
 * or unseen, but the word ABN.
 *
 * @param string $text Any text; one that is not UTF-8 names nothing.
 * @param string $abn  Eleven digits.
 */
function interlock_bridge_names_abn( string $text, string $abn ): bool {
	$hyphen    = '\x{2D}\x{2010}\x{2011}';
	$separator = ' \x{A0}\x{2007}\x{2009}\x{202F}\x{2012}-\x{2015}\x{2212}' . $hyphen;
	$unseen    = '\p{Cf}\p{Co}\x{00}-\x{08}\x{0E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{2065}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFF8}\x{E0000}-\x{E0FFF}';
	$glue      = '\p{L}\p{M}\p{N}\p{Pc}' . $unseen;

	$begin   = "(?<![+$glue])(?<![\\p{Nd}][.\\/])(?<![$glue][$hyphen])(?<![\\p{Nd}$unseen][$separator])";
	$named   = "(?<![$glue])[Aa][Bb][Nn][$hyphen]?";
	$end     = "(?![$glue])(?![.\\/]\\p{Nd})(?![$hyphen][$glue])(?![$separator][\\p{Nd}$unseen])";
	$pattern = "/(?:$begin|$named)" . implode( "[$separator]?", str_split( $abn ) ) . "$end/u";
	return 1 === preg_match( $pattern, $text );
}
