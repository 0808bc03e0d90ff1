<?php
/**
 * A must-use plugin: the site looks nowhere else for updates, news or pictures
 * of people.
 */

remove_action( 'admin_init', '_maybe_update_core' );
remove_action( 'admin_init', '_maybe_update_plugins' );
remove_action( 'admin_init', '_maybe_update_themes' );
remove_action( 'load-plugins.php', 'wp_update_plugins' );
add_filter( 'pre_option_show_avatars', '__return_zero' );
add_action(
	'wp_dashboard_setup',
	static function () {
		remove_meta_box( 'dashboard_primary', 'dashboard', 'side' );
		remove_meta_box( 'dashboard_site_health', 'dashboard', 'normal' );
	}
);
add_filter(
	'pre_http_request',
	static function ( $response, $arguments, $url ) {
		$host = parse_url( $url, PHP_URL_HOST );
		return in_array( $host, array( '127.0.0.1', 'localhost' ), true ) ? $response : new WP_Error( 'offline', 'the tests ask nobody else' );
	},
	10,
	3
);
