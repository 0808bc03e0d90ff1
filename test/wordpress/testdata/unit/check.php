<?php
/**
 * What the unit tests share. They run without WordPress, on any PHP that the
 * plugin supports: each prints "ok" and a number, or what is wrong.
 */

error_reporting( E_ALL );
set_error_handler(
	static function ( $level, $message, $file, $line ) {
		throw new ErrorException( $message, 0, $level, $file, $line );
	}
);
define( 'ABSPATH', '/nowhere/' );

$checked = 0;
$wrong   = 0;

/** Loads a file of the plugin. */
function load( string $name ): void {
	require_once getenv( 'INTERLOCK_PLUGIN' ) . '/includes/' . $name . '.php';
}

/** Compares and goes on. */
function check( string $what, $got, $want ): void {
	global $checked, $wrong;
	++$checked;
	if ( $got !== $want ) {
		++$wrong;
		echo $what, ': got ', var_export( $got, true ), ', want ', var_export( $want, true ), "\n";
	}
}

register_shutdown_function(
	static function () {
		global $checked, $wrong;
		if ( 0 === $wrong && $checked > 0 && null === error_get_last() ) {
			echo "ok $checked\n";
			return;
		}
		exit( 1 );
	}
);
